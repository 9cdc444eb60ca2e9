import Scheduling

/// For how long requests on a connection have got nothing.
///
/// Requests that were given up early, because another address answered, find a dead connection out this way too.
struct ConnectionSilence {
    /// The first request since anything came: when it was sent, and how many bytes had been received by then.
    private var unanswered: (since: Instant, received: Int64)?

    /// A request is sent.
    mutating func requestSent(at now: Instant, received: Int64) {
        if received != unanswered?.received { unanswered = (now, received) }
    }

    /// Whether a request was sent `limit` ago or earlier, and nothing came since; `received` is asked for only then.
    func hasLasted(_ limit: Duration, at now: Instant, received: () -> Int64?) -> Bool {
        guard let unanswered, now - unanswered.since >= limit else { return false }
        return received() == unanswered.received
    }
}
