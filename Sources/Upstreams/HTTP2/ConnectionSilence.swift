import Scheduling

/// For how long requests on a connection have got no reply. Bytes that belong to none are no sign that there will be one.
///
/// Requests that were given up early, because another address answered, find a dead connection out this way too.
struct ConnectionSilence {
    /// The first request since a reply came: when it was sent, and how many replies there had been by then.
    private var unanswered: (since: Instant, replies: Int)?

    /// A request is sent.
    mutating func requestSent(at now: Instant, replies: Int) {
        if replies != unanswered?.replies { unanswered = (now, replies) }
    }

    /// Whether a request was sent `limit` ago or earlier, and no reply came since.
    func hasLasted(_ limit: Duration, at now: Instant, replies: Int) -> Bool {
        guard let unanswered, now - unanswered.since >= limit else { return false }
        return replies == unanswered.replies
    }
}
