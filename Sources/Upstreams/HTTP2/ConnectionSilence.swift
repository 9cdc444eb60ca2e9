import Scheduling

/// Measures for how long requests on a connection have had no reply. Bytes that belong to no reply do not count.
///
/// A dead connection is detected also when its requests were cancelled early, because another address answered.
struct ConnectionSilence {
    /// The first request since the last reply: when it was sent, and the number of replies by then.
    private var unanswered: (since: Instant, replies: Int)?

    /// Records that a request is sent.
    mutating func requestSent(at now: Instant, replies: Int) {
        if replies != unanswered?.replies { unanswered = (now, replies) }
    }

    /// Whether a request was sent `limit` ago or earlier, and no reply has come since.
    func hasLasted(_ limit: Duration, at now: Instant, replies: Int) -> Bool {
        guard let unanswered, now - unanswered.since >= limit else { return false }
        return replies == unanswered.replies
    }
}
