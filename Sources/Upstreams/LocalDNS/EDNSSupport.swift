import Scheduling

/// Records whether a server answers queries with EDNS (RFC 6891).
///
/// Some servers, and firewalls in front of them, answer such queries with FORMERR or NOTIMP, or drop them. A server
/// that has refused EDNS and then answered without it is queried without EDNS for `pause`; so is one that has answered
/// only without EDNS `silenceLimit` times in a row, since a single datagram may just be lost. After that one query
/// tries EDNS again.
struct EDNSSupport: Sendable {
    /// The time for which EDNS is not offered.
    static let pause = Duration.seconds(600)
    /// Consecutive answers without EDNS, each after no response with EDNS, that mean that EDNS is dropped.
    static let silenceLimit = 3
    /// The time for which other queries go without EDNS while one tries EDNS again; after that the next one tries.
    static let probe = Duration.seconds(5)

    private var silences = 0
    private var plainUntil: Instant?

    /// Whether a query sent now has EDNS. When `pause` is over only the first caller gets true.
    mutating func isOffered(at now: Instant) -> Bool {
        guard let plainUntil else { return true }
        guard now >= plainUntil else { return false }
        self.plainUntil = now + Self.probe
        return true
    }

    /// Records an answer to a query without EDNS, after one with EDNS was refused (`isCertain`) or has had no response
    /// so far.
    mutating func answeredPlain(isCertain: Bool, at now: Instant) {
        silences += 1
        guard isCertain || silences >= Self.silenceLimit || plainUntil != nil else { return }
        plainUntil = now + Self.pause
    }
}
