public import DNSWire

/// How long answers are cached: the `[cache]` settings, and the rules of RFC 2181 and RFC 2308 that they modify.
public struct FreshnessPolicy: Hashable, Sendable {
    /// Seconds to which shorter TTLs of positive answers are raised. Default 0.
    public let minTTL: UInt32
    /// Seconds to which longer TTLs are lowered; takes precedence over `minTTL`. Default one day.
    public let maxTTL: UInt32
    /// Seconds that a negative answer without an SOA record is cached. Default 30.
    public let negativeTTL: UInt32
    /// Seconds past expiry for which an answer may still be served; 0 turns serve-stale off. Default one day.
    public let staleMax: UInt32
    /// How long a client waits for a refresh before it gets an answer that has just gone stale. Default 200 ms.
    public let staleWait: Duration
    /// Whether answers in use are prefetched, that is refreshed before they expire. Default true.
    public let prefetches: Bool

    /// Seconds beyond which no negative answer is cached: "one to three hours have been found to work well" (RFC 2308
    /// section 5).
    static let longestNegative: UInt32 = 3 * 3_600
    /// A TTL has 31 bits (RFC 2181 section 8).
    static let longestTTL: UInt32 = 0x7fff_ffff

    /// Takes the settings as configured; parts of a second count as a whole one.
    public init(
        minTTL: Duration = .zero, maxTTL: Duration = .seconds(86_400), negativeTTL: Duration = .seconds(30),
        staleMax: Duration = .seconds(86_400), staleWait: Duration = .milliseconds(200),
        prefetches: Bool = true
    ) {
        self.minTTL = Self.seconds(minTTL)
        self.maxTTL = Self.seconds(maxTTL)
        self.negativeTTL = Self.seconds(negativeTTL)
        self.staleMax = Self.seconds(staleMax)
        self.staleWait = staleWait
        self.prefetches = prefetches
    }

    private static func seconds(_ duration: Duration) -> UInt32 {
        let (seconds, attoseconds) = duration.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < Int64(longestTTL) else { return longestTTL }
        return UInt32(seconds) + (attoseconds > 0 ? 1 : 0)
    }

    /// Seconds for which a normalized answer may be cached; 0 means not at all.
    ///
    /// The least TTL of the answer section; for a negative answer also of its SOA record. Other RCODEs than NOERROR and
    /// NXDOMAIN are failures, which are not cached here.
    public func lifetime(of answer: Answer, for type: RecordType) -> UInt32 {
        guard answer.responseCode == .noError || answer.responseCode == .nameError else { return 0 }
        var least: UInt32?
        for record in answer.answers { least = min(least ?? .max, record.ttl) }
        if answer.isNegative(for: type) {
            let soa = answer.authorities.first { $0.type == .soa }
            least = min(least ?? .max, soa.map { negativeLifetime(of: $0) } ?? negativeTTL)
        }
        return least ?? 0
    }

    /// The answer as it is cached and sent.
    ///
    /// All records of an RRset share the least TTL among them (RFC 2181 section 5.2), within `minTTL` and `maxTTL`. A
    /// negative answer has an SOA record whose TTL is the answer's lifetime (RFC 2308 section 5), a synthetic one if it
    /// came without.
    public func normalized(_ answer: consuming Answer, for question: Question) -> Answer {
        let soa = answer.authorities.firstIndex { $0.type == .soa }
        let soaLifetime = soa.map { negativeLifetime(of: answer.authorities[$0]) }
        equalize(&answer.answers)
        equalize(&answer.authorities)
        equalize(&answer.additionals)
        guard answer.responseCode == .noError || answer.responseCode == .nameError,
            answer.isNegative(for: question.type)
        else { return answer }
        if let soa, let soaLifetime {
            answer.authorities[soa].ttl = soaLifetime
        } else {
            answer.authorities.append(
                .negativeSOA(for: question.name, ttl: min(negativeTTL, Self.longestNegative, maxTTL)))
        }
        return answer
    }

    /// min(SOA.TTL, SOA.MINIMUM), and our bounds (RFC 2308 section 5).
    private func negativeLifetime(of soa: Record) -> UInt32 {
        min(soa.ttl, soa.soaMinimum ?? soa.ttl, Self.longestNegative, maxTTL)
    }

    /// Gives the records of each RRset the same TTL. Signatures belong to the RRset that they cover and share its TTL (RFC 4034
    /// section 3).
    private func equalize(_ records: inout [Record]) {
        // Mostly they have it already, and nothing is copied.
        guard let first = records.first?.ttl, clamped(first) != first || records.contains(where: { $0.ttl != first })
        else { return }
        // An RRset has what a question has: name, type and class.
        func set(of record: Record) -> Question {
            Question(name: record.name, type: record.coveredType ?? record.type, class: record.class)
        }
        var least: [Question: UInt32] = [:]
        for record in records {
            let set = set(of: record)
            least[set] = min(least[set] ?? .max, clamped(record.ttl))
        }
        for index in records.indices { records[index].ttl = least[set(of: records[index])] ?? 0 }
    }

    private func clamped(_ ttl: UInt32) -> UInt32 {
        // A set top bit means 0 (RFC 2181 section 8).
        min(max(ttl > Self.longestTTL ? 0 : ttl, minTTL), maxTTL)
    }
}

/// The freshness of a cached answer at one moment.
public enum Freshness: Hashable, Sendable {
    /// It may be used for `remaining` seconds, at least 1.
    case fresh(remaining: UInt32)
    /// Its TTL has expired, no longer ago than it is long where it is young.
    case stale(isYoung: Bool)
    /// It must not be used any more.
    case dead
}

extension FreshnessPolicy {
    /// The least time past expiry for which an answer may be served, in seconds, unless serve-stale is off.
    static let shortestStale: UInt32 = 3_600
    /// The greatest one, as a multiple of its original TTL: an address that changes every minute is soon wrong.
    static let staleTTLFactor: UInt64 = 100

    /// An answer with a shorter lifetime, in seconds, is not prefetched: it would be queried constantly.
    static let shortestRefreshed: UInt32 = 10
    /// Part of a lifetime, at its end, in which an answer is prefetched: a tenth, which leaves time for one query.
    static let refreshShare: UInt32 = 10
    static let shortestMargin: UInt32 = 3

    /// Seconds at the end of a lifetime in which a query for the answer causes a prefetch; 0: never.
    public func refreshMargin(lifetime: UInt32) -> UInt32 {
        guard prefetches, lifetime >= Self.shortestRefreshed else { return 0 }
        return min(max(Self.shortestMargin, lifetime / Self.refreshShare), UInt32(UInt16.max))
    }

    /// The freshness of an answer `age` seconds after it was stored.
    public func freshness(age: UInt32, lifetime: UInt32) -> Freshness {
        if age < lifetime { return .fresh(remaining: lifetime - age) }
        let past = age - lifetime
        guard staleMax > 0, past <= staleWindow(lifetime: lifetime) else { return .dead }
        return .stale(isYoung: past <= lifetime)
    }

    /// How many seconds past expiry an answer may be served: max(1 h, min(`staleMax`, 100 x original TTL)); 0 when off.
    public func staleWindow(lifetime: UInt32) -> UInt32 {
        guard staleMax > 0 else { return 0 }
        let relative = UInt64(lifetime) * Self.staleTTLFactor
        return max(Self.shortestStale, UInt32(truncatingIfNeeded: min(UInt64(staleMax), relative)))
    }

    /// Seconds from one reading of the boot clock to a later one, correct also when 32 bits wrapped between them.
    ///
    /// 0 when the readings are in reverse order: a thread's clock may be a batch behind that of the thread that stored
    /// the answer.
    @inline(__always)
    public static func age(from storedAt: UInt32, to now: UInt32) -> UInt32 {
        UInt32(max(0, Int32(truncatingIfNeeded: now &- storedAt)))
    }
}

/// The TTLs of some entries.
public struct TTLSample: Equatable, Sendable {
    /// Entries within their TTL, and those past it.
    public private(set) var fresh = 0
    public private(set) var stale = 0
    /// The seconds that all fresh ones have left.
    public private(set) var seconds = 0

    mutating func add(left: UInt32) {
        guard left > 0 else { return stale += 1 }
        fresh += 1
        seconds += Int(left)
    }
}
