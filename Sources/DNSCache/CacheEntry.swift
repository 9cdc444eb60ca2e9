public import DNSWire

/// A copy of a cache entry.
public struct CacheEntry: Equatable, Sendable {
    public var answer: PackedAnswer
    /// When it was stored, in whole seconds.
    public var storedAt: Instant
    /// Its original TTL: seconds for which it is fresh, counted from `storedAt`.
    public var lifetime: UInt32
    /// The policy generation under which it was stored or last confirmed.
    public var generation: UInt32
    /// The route by which it was resolved, as a number assigned by the resolver.
    public var route: UInt16
    /// The source of the answer, as a number assigned by the resolver.
    public var source: UInt16
    /// The server of the source, as a number assigned by the resolver.
    public var server: UInt16
    /// Whether it is NXDOMAIN or NODATA.
    public var isNegative: Bool
    /// Seconds at the end of its lifetime in which the UDP threads pass queries to the loop, which can refresh it
    /// before it expires; 0: never. At most 65,535.
    public var refreshMargin: UInt32

    public init(
        answer: PackedAnswer, storedAt: Instant, lifetime: UInt32, generation: UInt32, route: UInt16 = 0,
        source: UInt16 = 0, server: UInt16 = 0, isNegative: Bool = false, refreshMargin: UInt32 = 0
    ) {
        self.answer = answer
        self.storedAt = storedAt
        self.lifetime = lifetime
        self.generation = generation
        self.route = route
        self.source = source
        self.server = server
        self.isNegative = isNegative
        self.refreshMargin = refreshMargin
    }

    /// Seconds since it was stored.
    public func age(at now: Instant) -> UInt32 { FreshnessPolicy.age(from: storedAt.seconds, to: now.seconds) }

    /// Whether the UDP threads answer from it at `now`, if its generation is current.
    public func isHit(at now: Instant) -> Bool { age(at: now) < lifetime - min(refreshMargin, lifetime) }

    /// Its freshness at `now`.
    public func freshness(at now: Instant, _ policy: FreshnessPolicy) -> Freshness {
        policy.freshness(age: age(at: now), lifetime: lifetime)
    }
}

/// Answers that are removed at a user's command, of every type.
public enum AnswerRemoval: Sendable, Hashable {
    case all
    /// This name only.
    case name(Name)
    /// The name and all names below it.
    case suffix(Name)
    /// Answers that hold this address.
    case holding(IPAddress)

    /// Whether it covers the answer of a name with these addresses.
    public func covers(_ name: Name, _ addresses: @autoclosure () -> [IPAddress]) -> Bool {
        switch self {
        case .all: true
        case .name(let other): name == other
        case .suffix(let suffix): name.isWithin(suffix)
        case .holding(let address): addresses().contains(address)
        }
    }
}

/// A cached answer with the parts of its key, as returned by a walk.
public struct CachedAnswer: Sendable {
    /// In lower case.
    public let name: Name
    public let type: RecordType
    public let dnssecOK: Bool
    public let checkingDisabled: Bool
    /// The clients for which it is valid; nil for all.
    public let scope: ClientScope?
    public let entry: CacheEntry

    /// Reads the bytes of a `QueryKey`. Nil unless `isWanted` accepts the name.
    init?(key: [UInt8], entry: @autoclosure () -> CacheEntry?, where isWanted: (Name) -> Bool) {
        guard let parts = Self.parts(Array(key.dropLast(5))), isWanted(parts.name), let entry = entry() else {
            return nil
        }
        (name, scope) = parts
        let end = key.suffix(5)
        type = RecordType(rawValue: UInt16(end[end.startIndex]) << 8 | UInt16(end[end.startIndex + 1]))
        dnssecOK = key[key.count - 1] & 1 != 0
        checkingDisabled = key[key.count - 1] & 2 != 0
        self.entry = entry
    }

    /// The name at the beginning of a key, and the scope after it.
    private static func parts(_ bytes: [UInt8]) -> (name: Name, scope: ClientScope?)? {
        var end = 0
        while end < bytes.count, bytes[end] > 0 { end += 1 + Int(bytes[end]) }
        guard end < bytes.count, let name = try? Name(wire: Array(bytes[...end])) else { return nil }
        let rest = Array(bytes[(end + 1)...])
        if rest.isEmpty { return (name, nil) }
        return ClientScope(keyBytes: rest).map { (name, $0) }
    }

    /// Its key; with another type if `type` is given.
    public func key(type: RecordType? = nil) -> QueryKey {
        QueryKey(
            Question(name: name, type: type ?? self.type), dnssecOK: dnssecOK, checkingDisabled: checkingDisabled,
            scope: scope)
    }
}

/// The position of a walk over a cache that may change meanwhile.
public struct CacheCursor: Hashable, Sendable {
    let shard: Int
    /// Slot of the shard's index.
    let slot: Int

    /// The start of every walk.
    public static let start = CacheCursor(shard: 0, slot: 0)
}

extension CacheCursor: LosslessStringConvertible {
    /// `12.3400`
    public var description: String { "\(shard).\(slot)" }

    /// Parses a cursor's description; nil for any other text.
    public init?(_ description: String) {
        let parts = description.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let shard = UInt16(parts[0]), let slot = UInt32(parts[1]) else { return nil }
        self.init(shard: Int(shard), slot: Int(slot))
    }
}

/// The fixed fields with which an entry begins in a store's memory, laid out without gaps: 38 bytes.
struct EntryHeader: BitwiseCopyable {
    /// Of the key.
    var hash: UInt32
    /// The block's size in granules of 8 bytes.
    var granules: UInt16
    var marks: EntryMarks
    /// The RCODE in 4 bits, and above it one for `isNegative` and one for `rotates`.
    private var outcome: UInt8
    /// Boot-clock seconds.
    var storedAt: UInt32
    /// Seconds for which the UDP threads serve it without the loop; the rest of its lifetime is the margin.
    var hitLifetime: UInt32
    var generation: UInt32
    var route: UInt16
    var source: UInt16
    var server: UInt16
    /// Seconds at the end of its lifetime in which the loop is asked whether it is worth a refresh.
    private var margin: UInt16
    /// Bytes of the key, and of the body.
    var keyCount: UInt16
    var bodyCount: UInt16
    var counts: PackedAnswer.SectionCounts

    private static var negativeBit: UInt8 { 0x10 }
    private static var rotatesBit: UInt8 { 0x20 }

    /// Of a block of so many granules, and a key of so many bytes, 260 at most.
    init(_ entry: CacheEntry, hash: UInt32, granules: Int, keyCount: Int, marks: EntryMarks) {
        self.hash = hash
        self.granules = UInt16(truncatingIfNeeded: granules)
        self.marks = marks
        outcome =
            UInt8(truncatingIfNeeded: entry.answer.responseCode.rawValue & 15)
            | (entry.isNegative ? Self.negativeBit : 0) | (entry.answer.rotates ? Self.rotatesBit : 0)
        storedAt = entry.storedAt.seconds
        margin = UInt16(truncatingIfNeeded: min(entry.refreshMargin, entry.lifetime, UInt32(UInt16.max)))
        hitLifetime = entry.lifetime - UInt32(margin)
        generation = entry.generation
        route = entry.route
        source = entry.source
        server = entry.server
        self.keyCount = UInt16(truncatingIfNeeded: keyCount)
        bodyCount = UInt16(truncatingIfNeeded: entry.answer.body.count)
        counts = entry.answer.counts
    }

    /// 4 bits.
    @inline(__always)
    var responseCode: UInt8 { outcome & 15 }

    var isNegative: Bool { outcome & Self.negativeBit != 0 }

    /// As the answer's.
    @inline(__always)
    var rotates: Bool {
        get { outcome & Self.rotatesBit != 0 }
        set { outcome = outcome & ~Self.rotatesBit | (newValue ? Self.rotatesBit : 0) }
    }

    /// Seconds for which it is fresh.
    var lifetime: UInt32 { hitLifetime &+ UInt32(margin) }

    var refreshMargin: UInt32 { UInt32(margin) }

    /// Has the UDP threads serve it to the end of its lifetime.
    mutating func dropMargin() {
        hitLifetime = lifetime
        margin = 0
    }
}

/// What happened to an entry since it was stored, or last looked at.
struct EntryMarks: OptionSet, BitwiseCopyable {
    let rawValue: UInt8

    /// The index leads to it.
    static var live: EntryMarks { EntryMarks(rawValue: 1) }
    /// It was asked for since it was last looked at for eviction.
    static var visited: EntryMarks { EntryMarks(rawValue: 2) }
    /// It has answered a client since it was stored.
    static var hit: EntryMarks { EntryMarks(rawValue: 4) }
    /// All that an entry has after a hit.
    static var afterHit: EntryMarks { EntryMarks(rawValue: 7) }
}
