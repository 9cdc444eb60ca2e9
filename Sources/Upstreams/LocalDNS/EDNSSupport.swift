import Scheduling

/// What is known of whether a server answers queries with EDNS (RFC 6891).
///
/// Some servers, and firewalls before them, answer such queries with FORMERR or NOTIMP, or drop them. A server that has
/// answered without EDNS after it refused it is asked without for `pause`; so is one that has answered only without EDNS
/// `silenceLimit` times in a row, for a single datagram may just be lost. After that one question tries EDNS again.
struct EDNSSupport: Sendable {
    /// How long EDNS is not offered.
    static let pause = Duration.seconds(600)
    /// How many answers in a row without EDNS, each after silence with EDNS, mean that EDNS is dropped.
    static let silenceLimit = 3
    /// How long others wait for what a question finds out that tries EDNS again; after that the next one tries.
    static let probe = Duration.seconds(5)

    private var silences = 0
    private var plainUntil: Instant?

    /// Whether a query that is sent now has EDNS. Where that was not so until now, only the first that looks tries it.
    mutating func isOffered(at now: Instant) -> Bool {
        guard let plainUntil else { return true }
        guard now >= plainUntil else { return false }
        self.plainUntil = now + Self.probe
        return true
    }

    /// A query without EDNS was answered, after one with it was refused (`isCertain`), or was not answered so far.
    mutating func answeredPlain(isCertain: Bool, at now: Instant) {
        silences += 1
        guard isCertain || silences >= Self.silenceLimit || plainUntil != nil else { return }
        plainUntil = now + Self.pause
    }
}
