import DNSWire

/// Limits the misses that one client network causes at the providers, which bill each
/// (Documentation/Decisions/0028-miss-brake.md).
///
/// A client network has `MissLimits.burst` misses, which come back at `MissLimits.perSecond`; names that share their
/// last two labels have half of them. A name that does not exist counts five times there: a flood of such names puts that domain
/// on a short leash, for that client network alone.
///
/// At most 2,048 counts. One that was not used lately is forgotten and begins full, which can only let more through.
@Loop
final class MissBrake {
    private struct Key: Hashable {
        let network: ClientNetwork
        /// Nil: all names.
        let domain: Name?
    }

    /// How often a miss counts in a domain's share, which is half of the network's.
    private static let domainCost = 2
    /// How often a name that does not exist counts, beyond its miss.
    private static let denialCost = 4
    /// How many counts each of the two tables has.
    private static let capacity = 1_024

    /// Nil: nothing is limited. What client networks had counts on while the limits are the same.
    var limits: MissLimits? { didSet { if limits != oldValue { (recent, older) = ([:], [:]) } } }
    /// How many misses were refused since the start.
    private(set) var refused = 0
    private var shares = CallShares()
    /// When each count is full again: one number for the misses left and when they come back. Those that were used
    /// lately, and those from before: a table that is full takes the place of the older one.
    private var recent: [Key: Instant] = [:]
    private var older: [Key: Instant] = [:]

    nonisolated init(_ limits: MissLimits? = nil) { self.limits = limits }

    /// How many counts there are. For tests.
    var count: Int { recent.count + older.count }

    /// Counts a miss. Returns why it costs its client network too much, and what is reported of it; nil where it does not.
    func refusal(
        of key: FlightKey, share: @autoclosure () -> Int?, at now: Instant
    ) -> (reason: String, event: ResolverEvent)? {
        if let domain = refuses(key.name, of: key.holder, at: now) {
            refused += 1
            return (
                "limits.misses_per_second: too many names that are not cached, now below \(domain)",
                .missesRefused(key.holder, domain: domain)
            )
        }
        guard let share = share(), shares.refuses(key.holder, share: share, at: now) else { return nil }
        refused += 1
        return (
            "daily_limit, monthly_limit: this client's network has had its share of the calls that are left",
            .callsRefused(key.holder)
        )
    }

    /// Counts a miss of a name in lower case, unless the client network has had its share: then returns the last two labels.
    func refuses(_ name: Name, of network: ClientNetwork, at now: Instant) -> Name? {
        guard let limits else { return nil }
        let domain = name.owner
        let (all, own) = (Key(network: network, domain: nil), Key(network: network, domain: domain))
        if limits.countsDenialsAlone { return full(own, at: now) - now <= limits.time(limits.burst) ? nil : domain }
        let (allFull, ownFull) = (
            full(all, at: now) + limits.time(1), full(own, at: now) + limits.time(Self.domainCost)
        )
        guard max(allFull, ownFull) - now <= limits.time(limits.burst) else { return domain }
        note(allFull, for: all)
        note(ownFull, for: own)
        return nil
    }

    /// Whether a quarter of a burst is used, of all names or of this one's domain.
    func isNear(_ name: Name, of network: ClientNetwork, at now: Instant) -> Bool {
        guard let limits else { return false }
        let name = name.lowercased
        return [nil, name.owner].contains {
            full(Key(network: network, domain: $0), at: now) - now >= limits.time(limits.burst) / 4
        }
    }

    /// Counts a name that does not exist. At most twice the burst is owed, so that the leash ends.
    func denied(_ name: Name, to network: ClientNetwork, at now: Instant) {
        guard let limits else { return }
        let key = Key(network: network, domain: name.owner)
        let full = full(key, at: now) + limits.time(Self.domainCost * Self.denialCost)
        note(min(full, now + limits.time(2 * limits.burst)), for: key)
    }

    private func full(_ key: Key, at now: Instant) -> Instant { max(recent[key] ?? older[key] ?? now, now) }

    private func note(_ full: Instant, for key: Key) {
        if recent.count >= Self.capacity, recent[key] == nil { (older, recent) = (recent, [:]) }
        recent[key] = full
    }
}

/// How many misses one client network may cause at the providers (`MissBrake`).
public struct MissLimits: Hashable, Sendable {
    /// Misses a second, 1 to 100,000.
    public let perSecond: Int
    /// Misses at once, 2 to 1,000,000.
    public let burst: Int
    /// Whether only names that do not exist count.
    public let countsDenialsAlone: Bool

    /// Where calls are billed or limited, and nothing else is configured: below one domain a client network may have 250 names
    /// that do not exist at once, and 25 a second: a mail server that looks up in lists has some 20. Names that exist do not count.
    public static let whereBilled = MissLimits(perSecond: 200, burst: 2_000, countsDenialsAlone: true)

    /// - Parameters: what is beyond the range of one is put into it.
    public init(perSecond: Int, burst: Int, countsDenialsAlone: Bool = false) {
        self.perSecond = min(max(1, perSecond), 100_000)
        self.burst = min(max(2, burst), 1_000_000)
        self.countsDenialsAlone = countsDenialsAlone
    }

    /// The time in which this many misses come back.
    fileprivate func time(_ misses: Int) -> Duration { .nanoseconds(1_000_000_000 / perSecond * misses) }
}

/// The calls that each client network has caused since half of the providers' limits was spent: that half is shared, where
/// several networks ask.
///
/// At most `capacity` networks; beyond it the counts begin again, which can only let more through.
struct CallShares {
    private static let capacity = 1_024
    /// How long a network is remembered that has asked.
    private static let memory: Duration = .seconds(86_400)

    private var calls: [ClientNetwork: Int] = [:]
    private var seen: [ClientNetwork: Instant] = [:]

    /// Counts a call, unless the client network has had its share, and others ask too.
    ///
    /// - Parameter share: `.max`: half of some limit is not spent, and nothing is counted.
    /// - Returns: whether it is refused.
    mutating func refuses(_ network: ClientNetwork, share: Int, at now: Instant) -> Bool {
        if seen.count >= Self.capacity, seen[network] == nil { seen = seen.filter { now - $0.value < Self.memory } }
        if seen.count < Self.capacity || seen[network] != nil { seen[network] = now }
        guard share < .max else {
            if !calls.isEmpty { calls = [:] }
            return false
        }
        let count = calls[network] ?? 0
        if count >= share, seen.contains(where: { $0.key != network && now - $0.value < Self.memory }) { return true }
        if calls.count >= Self.capacity, count == 0 { calls = [:] }
        calls[network] = count + 1
        return false
    }
}
