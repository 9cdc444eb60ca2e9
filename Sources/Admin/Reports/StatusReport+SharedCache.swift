extension StatusReport {
    /// The state of the cache that several servers share.
    package struct SharedCache: JSONRecord {
        /// Where it is; empty: nothing is shared.
        package var address = ""
        package var state = State.used
        /// Seconds until it is probed; nil while it is used.
        package var retry: Int?
        /// Why it is in backoff.
        package var error = ""
        /// Look-ups that found what was asked for, that did not, that had no reply in time, and that were not made since it
        /// was in backoff.
        package var hits = 0
        package var misses = 0
        package var timeouts = 0
        package var skipped = 0
        /// Look-ups that waited while another server asked, and those that then had its answer.
        package var waits = 0
        package var served = 0
        /// Answers written, and refused.
        package var written = 0
        package var refused = 0
        /// Values that are no answers.
        package var damaged = 0
        /// Seconds since the last write that was refused, and since the last such value; nil: none was.
        package var refusedAge: Int?
        package var damagedAge: Int?

        package init() {}

        package static let members: [JSONMember<Self>] = [
            .init("address", \.address),
            .init("state", word: \.state),
            .init("retry_seconds", \.retry),
            .init("error", \.error),
            .init("hits", \.hits),
            .init("misses", \.misses),
            .init("timeouts", \.timeouts),
            .init("skipped", \.skipped),
            .init("waits", \.waits),
            .init("served", \.served),
            .init("written", \.written),
            .init("refused", \.refused),
            .init("damaged", \.damaged),
            .init("refused_age_seconds", \.refusedAge),
            .init("damaged_age_seconds", \.damagedAge),
        ]

        /// One line.
        var text: String {
            var state = "\(address), \(state.rawValue)"
            if let retry { state += " for \(retry) s" }
            if !error.isEmpty { state += " (\(error))" }
            var text =
                "\(state): \(counted(hits, "hit")), \(counted(misses, "miss", "misses")), \(timeouts) without a reply"
            text += ", \(skipped) not looked up; \(waits) waited for another server, \(served) had its answer"
            text += "; \(written) written"
            if refused > 0 { text += ", \(refused) refused" }
            if damaged > 0 { text += ", \(counted(damaged, "DAMAGED value"))" }
            return text
        }
    }
}
