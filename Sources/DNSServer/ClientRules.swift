public import DNSWire
import Glibc
import Platform
import Synchronization

/// The configuration's rules about clients: which ones are answered, and which client networks services receive.
public struct ClientRules: Sendable {
    public var access: AccessList
    /// Nil while no service receives client networks.
    public var scoping: ClientScoping?
    /// Clients over HTTPS that have one of these are answered whatever `access` says.
    public var tokens: AccessTokens
    /// Nil: with secrets of this process.
    public var cookies: ServerCookies?
    /// Responses a second over UDP to a public client network without a cookie; 0: any number.
    public var datagramRate: Int

    public init(
        access: AccessList, scoping: ClientScoping? = nil, tokens: AccessTokens = AccessTokens(),
        cookies: ServerCookies? = nil, datagramRate: Int = 0
    ) {
        self.access = access
        self.scoping = scoping
        self.tokens = tokens
        self.cookies = cookies
        self.datagramRate = datagramRate
    }
}

/// The rules about clients in force, shared by all threads and replaced by a reload.
///
/// Each thread has a copy of the access list. Once for each batch of datagrams it checks whether the policy's
/// generation has changed; only then it takes the lock here and makes a new copy. So a hit costs nothing more, and no
/// memory is freed that a thread may still use. The code that replaces the rules raises the generation afterwards. A
/// waiting thread keeps its old copy until a datagram arrives, and decides that one by the new copy.
public final class SharedClientRules: Sendable {
    private let rules: Mutex<ClientRules>
    /// 0: no scoping. Read on a miss only, and not copied: a larger handler makes every hit slower.
    private let scopingBits: Atomic<Int>
    /// Here, and not in the handlers: a larger handler makes every hit slower.
    let refused = RefusedClients()
    /// Clients that have to ask over TCP.
    let limited = RefusedClients()
    let datagramRate: DatagramRate
    private let ownCookies = ServerCookies()

    public init(_ rules: ClientRules) {
        datagramRate = DatagramRate(rules.datagramRate)
        self.rules = Mutex(rules)
        scopingBits = Atomic(rules.scoping?.bits ?? 0)
    }

    /// Reports to the log from now on which clients are refused, and which have to ask over TCP.
    func report(to events: EventLog) {
        refused.report(to: events) {
            "client \($0) is not in listen.allow and gets REFUSED (\($1) queries refused since the start)"
        }
        limited.report(to: events) {
            "client \($0) asks faster than listen.udp_rate without a cookie, and is directed to TCP (\($1) queries since the start)"
        }
    }

    public var access: AccessList { rules.withLock { $0.access } }

    public var tokens: AccessTokens { rules.withLock { $0.tokens } }

    /// The cookie with which a query is answered, and whether the one that it has was valid; nil: it has none.
    func cookie(
        of query: Query, in message: Span<UInt8>, from client: IPAddress
    ) -> (cookie: Cookie, isValid: Bool)? {
        let cookies = rules.withLock { $0.cookies } ?? ownCookies
        return cookies.answer(query, in: message, from: client, at: UInt32(truncatingIfNeeded: time(nil)))
    }

    public var scoping: ClientScoping? {
        let bits = scopingBits.load(ordering: .acquiring)
        return bits > 0 ? ClientScoping(bits: bits) : nil
    }

    /// Takes effect with the next generation of the policy.
    public func replace(with rules: ClientRules) {
        self.rules.withLock { $0 = rules }
        datagramRate.set(rules.datagramRate)
        scopingBits.store(rules.scoping?.bits ?? 0, ordering: .releasing)
    }
}

/// Which clients are answered: `[listen] allow`.
///
/// The prefixes are converted to disjoint sorted ranges, so that a look-up is a binary search; for loopback addresses
/// it is a comparison.
public struct AccessList: Sendable {
    private let ranges4: [ClosedRange<UInt32>]
    private let ranges6: [ClosedRange<UInt128>]
    private let allowsLoopback4: Bool
    private let allowsLoopback6: Bool

    /// Allows clients within any of `prefixes`; none if it is empty.
    public init(_ prefixes: [AddressPrefix]) {
        var ranges4: [ClosedRange<UInt32>] = []
        var ranges6: [ClosedRange<UInt128>] = []
        for prefix in prefixes {
            switch prefix.address {
            case .v4(let value): ranges4.append(value...(value | UInt32.max >> UInt32(prefix.length)))
            case .v6(let value): ranges6.append(value...(value | UInt128.max >> UInt128(prefix.length)))
            }
        }
        self.ranges4 = Self.merged(ranges4)
        self.ranges6 = Self.merged(ranges6)
        allowsLoopback4 = self.ranges4.contains { $0.contains(0x7f00_0000) && $0.contains(0x7fff_ffff) }
        allowsLoopback6 = self.ranges6.contains { $0.contains(1) }
    }

    @inline(__always)
    public func allows(_ client: IPAddress) -> Bool {
        switch client {
        case .v4(let value) where allowsLoopback4 && value >> 24 == 127: true
        case .v6(let value) where allowsLoopback6 && value == 1: true
        default: isListed(client)
        }
    }

    private func isListed(_ client: IPAddress) -> Bool {
        switch client {
        case .v4(let value): Self.contains(ranges4, value)
        case .v6(let value): Self.contains(ranges6, value)
        }
    }

    /// Merges ranges into disjoint ones, in ascending order.
    private static func merged<Value: FixedWidthInteger>(_ ranges: [ClosedRange<Value>]) -> [ClosedRange<Value>] {
        var merged: [ClosedRange<Value>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        return merged
    }

    private static func contains<Value: FixedWidthInteger>(_ ranges: [ClosedRange<Value>], _ value: Value) -> Bool {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < value { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].lowerBound <= value
    }
}

/// Counts the queries of clients that are refused for one reason, and reports them to the log: one in a second at most, so
/// that a flood of them costs the loop nothing.
final class RefusedClients: Sendable {
    private let number = Atomic<Int>(0)
    private let reported = SecondCount()
    private let report = Mutex<(@Sendable (IPAddress) -> Void)?>(nil)

    /// Queries since the start.
    var count: Int { number.load(ordering: .relaxed) }

    /// Counts a query. May be called from any thread.
    func add(_ client: IPAddress, at now: Instant) {
        number.wrappingAdd(1, ordering: .relaxed)
        if reported.take(1, at: now) { report.withLock { $0 }?(client) }
    }

    /// Reports to `events` from now on.
    ///
    /// - Parameter text: of a client, and of how many queries were refused.
    func report(to events: EventLog, text: @escaping @Sendable (IPAddress, Int) -> String) {
        report.withLock {
            $0 = { [weak self] client in
                Loop.spawn {
                    guard let self else { return }
                    events.report(.clientRefused, text(client, self.count))
                }
            }
        }
    }
}

/// How many of the queries that are refused are answered with SERVFAIL; the others are dropped.
///
/// Refusing a query costs the kernel's work for a datagram, some 4 us. Where the UDP threads and the loop share too few
/// CPUs, a flood of several times the capacity would spend most of the time on refusals, and ever fewer queries would be
/// answered. So no more than a number a second are; clients of the others retransmit, as if the kernel had had no room.
final class RefusalLimit: Sendable {
    private let limit: Int
    /// Of a whole second, since clients ask in bursts.
    private let answered = SecondCount()
    private let refused = Atomic<Int>(0)
    private let dropped = Atomic<Int>(0)

    /// - Parameter limit: how many are answered each second.
    init(_ limit: Int) { self.limit = limit }

    /// Queries refused since the start, and how many of these got no response.
    var counts: (refused: Int, dropped: Int) {
        (refused.load(ordering: .relaxed), dropped.load(ordering: .relaxed))
    }

    /// Counts a query that is refused. Returns whether it is answered with SERVFAIL. May be called from any thread.
    func refuse(at now: Instant) -> Bool {
        refused.wrappingAdd(1, ordering: .relaxed)
        if answered.take(limit, at: now) { return true }
        dropped.wrappingAdd(1, ordering: .relaxed)
        return false
    }
}

/// How many responses a second a client network gets over UDP without a cookie: any host may have sent the queries in its
/// name, so that the responses flood it.
///
/// Counted are networks with public addresses: those of private networks, and of this machine, no host elsewhere can reach.
/// They share counters by a hash with a key of this process; a network that shares one with a flooded one is directed to
/// TCP, too.
final class DatagramRate: Sendable {
    private static let size = 4_096

    private let counts = InlineArray<4_096, SecondCount> { _ in SecondCount() }
    private let limit: Atomic<Int>

    /// - Parameter limit: responses a second; 0: any number.
    init(_ limit: Int) { self.limit = Atomic(limit) }

    /// Takes another limit.
    func set(_ limit: Int) { self.limit.store(limit, ordering: .relaxed) }

    /// Counts a response. Returns whether there may be one. May be called from any thread.
    func take(for client: IPAddress, at now: Instant) -> Bool {
        let limit = limit.load(ordering: .relaxed)
        guard limit > 0, client.isRouted else { return true }
        var hasher = Hasher()
        hasher.combine(ClientNetwork(client))
        return counts[hasher.finalize() & (Self.size - 1)].take(limit, at: now)
    }
}

/// Counts up to a limit in each second.
struct SecondCount: ~Copyable, Sendable {
    /// The second in the upper half, the number in it in the lower one.
    private let value = Atomic<UInt64>(0)

    /// Counts one. Returns whether the limit allows it. May be called from any thread.
    func take(_ limit: Int, at now: Instant) -> Bool {
        let second = UInt64(UInt32(truncatingIfNeeded: now.nanoseconds / 1_000_000_000)) << 32
        var count = value.load(ordering: .relaxed)
        while true {
            let next = count & ~0xffff_ffff == second ? count &+ 1 : second | 1
            guard next & 0xffff_ffff <= limit else { return false }
            let result = value.compareExchange(expected: count, desired: next, ordering: .relaxed)
            if result.exchanged { return true }
            count = result.original
        }
    }
}
