package import DNSCache

extension StatusReport {
    /// The state of the memory cache and its file.
    package struct Cache: JSONRecord {
        /// Its size, and its counters since the start.
        package var memory = MemoryCache.Statistics()
        /// Of the misses, those that were answered with a stale answer.
        package var stale = 0
        /// Answers that were prefetched, that is refreshed before they expired.
        package var refreshes = 0
        /// The path of the file in which answers are stored over a restart; empty: none.
        package var file = ""
        /// The state of the file, and why it is not used.
        package var fileState = ""
        package var fileError = ""
        /// Answers that were read from the file, and that were written to it.
        package var loaded = 0
        package var written = 0

        package init() {}

        package static let members: [JSONMember<Self>] = [
            .init("entries", \.memory.entries),
            .init("bytes", \.memory.bytes),
            .init("limit", \.memory.limit),
            .init("hits", \.memory.hits),
            .init("misses", \.memory.misses),
            .init("stale", \.stale),
            .init("refreshes", \.refreshes),
            .init("file", \.file),
            .init("file_state", \.fileState),
            .init("file_error", \.fileError),
            .init("loaded", \.loaded),
            .init("written", \.written),
        ]
    }
}

extension StatusReport.Cache {
    /// Its file, for a row of the text.
    var fileText: String {
        if file.isEmpty { return "answers are cached in memory alone" }
        let reason = fileError.isEmpty ? "" : " (\(fileError))"
        return "\(file), \(fileState)\(reason): \(counted(loaded, "answer")) loaded, \(written) written"
    }
}

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
