public import DNSCache
public import DNSWire

/// An answer as stored in the file; independent of the process that wrote it.
public struct StoredAnswer: Equatable, Sendable {
    /// With its name in lower case.
    public var question: Question
    public var dnssecOK: Bool
    public var checkingDisabled: Bool
    public var answer: PackedAnswer
    public var head: AnswerHead

    /// The key of the answer in the cache.
    public var key: QueryKey { QueryKey(question, dnssecOK: dnssecOK, checkingDisabled: checkingDisabled) }

    /// Seconds from its storing to `now`, since 1970; its whole lifetime where the clock was set back since.
    public func age(at now: Int64) -> Int {
        now < head.storedAt ? Int(head.lifetime) : Int(min(now, WallClock.range.upperBound) - head.storedAt)
    }

    /// Seconds after its storing for which it may be served, fresh or stale.
    static func usefulness(lifetime: UInt32, _ policy: FreshnessPolicy) -> Int64 {
        Int64(lifetime) + Int64(policy.staleWindow(lifetime: lifetime))
    }

    /// The entry for a row; nil when the current policy does not let this source answer this name. Without a known age it
    /// is stale, and not only by a little: a client waits longer for a better answer.
    func entry(_ identity: PolicyIdentity, _ now: Instant, age: Int64?) -> CacheEntry? {
        guard let tag = identity.tags[head.source],
            let routeTag = identity.route(question, dnssecOK || checkingDisabled),
            StoredRoute(tag: routeTag) == head.route
        else { return nil }
        let isSamePolicy = head.policy == identity.number
        if identity.standIns.contains(tag), head.route != .bypass, !isSamePolicy { return nil }
        // Far beyond any use, and far below the overflow of 32 bits of seconds.
        let storedAt = now - .seconds(min(age ?? 2 * Int64(head.lifetime) + 1, Int64(Int32.max / 2)))
        // A generation other than the current one: the loop decides again before a thread serves it.
        let generation =
            storedAt <= identity.networkBegan
            ? identity.earlierNetwork : isSamePolicy ? identity.generation : identity.generation &- 1
        return CacheEntry(
            answer: answer, storedAt: storedAt, lifetime: head.lifetime, generation: generation, route: routeTag,
            source: tag, isNegative: head.isNegative)
    }
}

extension StoredAnswer {
    /// Reads the value of a row: the answers to its question, each a head and records, and a checksum of all; nil for one
    /// that is not as it was written. It is checked as if it had come from the network.
    ///
    /// A and AAAA of a name are one row of type A, since most services are asked for both at once. The question is name in
    /// lower case, type, class, and a byte of flags, as in a `QueryKey`.
    static func read(_ value: [UInt8], of question: [UInt8]) -> [StoredAnswer]? {
        let tail = question.suffix(5)
        guard value.count > checksumSize, question.count > 5, let flags = tail.last, flags < 4,
            value.suffix(checksumSize).number
                == checksum(of: value.dropLast(checksumSize), after: checksum(of: question)),
            let name = try? Name(wire: Array(question.dropLast(5)))
        else { return nil }
        let type = RecordType(rawValue: UInt16(truncatingIfNeeded: tail.prefix(2).number))
        let `class` = RecordClass(rawValue: UInt16(truncatingIfNeeded: tail.dropFirst(2).prefix(2).number))
        var answers: [StoredAnswer] = []
        var rest = ByteReader(value.dropLast(checksumSize))
        while !rest.isAtEnd {
            // AAAA stands last.
            guard let head = rest.bytes(AnswerHead.size).map(AnswerHead.init), let records = rest.string(behind: 2),
                type != .aaaa, !head.isSix || type == .a, answers.last.map({ head.isSix && !$0.head.isSix }) ?? true,
                let answer = StoredAnswer(
                    Question(name: name, type: head.isSix ? .aaaa : type, class: `class`), flags: flags, head,
                    Array(records))
            else { return nil }
            answers.append(answer)
        }
        return answers
    }

    private init?(_ question: Question, flags: UInt8, _ head: AnswerHead, _ records: [UInt8]) {
        guard AnswerHead.lifetimes.contains(head.lifetime), WallClock.times.contains(head.storedAt),
            let (answer, isNegative) = PackedAnswer.checked(
                records, responseCode: head.responseCode, counts: head.counts, for: question),
            answer.longestTTL <= AnswerHead.lifetimes.upperBound, isNegative == head.isNegative
        else { return nil }
        (self.question, self.head, self.answer) = (question, head, answer)
        (dnssecOK, checkingDisabled) = (flags & 1 != 0, flags & 2 != 0)
    }
}

/// What is known of one stored answer beside its records; stands before them in a row's value.
public struct AnswerHead: Equatable, Sendable {
    var isSix: Bool
    public var isNegative: Bool
    public var route: StoredRoute
    var responseCode: ResponseCode
    /// By which setting of the clock it was stored (`ClockMark.epoch`), and when, in seconds since 1970.
    var epoch: UInt16
    var storedAt: Int64
    /// Its original TTL, in seconds.
    public var lifetime: UInt32
    /// The source that gave the answer, and the policy under which it was stored, as `PolicyIdentity` numbers them.
    var source: UInt64
    var policy: UInt64
    var counts: PackedAnswer.SectionCounts

    /// Bytes of it.
    static let size = 33
    /// TTLs in seconds: up to the maximum of `cache.max_ttl`.
    static let lifetimes: ClosedRange<UInt32> = 1...7 * 86_400
    /// Times of storing are written as seconds since this one.
    private static let earliest = WallClock.times.lowerBound

    /// Appends it, and then the records that it speaks of, behind their length in two bytes.
    func append(to bytes: inout [UInt8], _ records: [UInt8]) {
        bytes.append(
            (isSix ? 1 : 0) | (isNegative ? 2 : 0) | route.rawValue << 2 | responseCode.rawValue << 4, bytes: 1)
        bytes.append(epoch, bytes: 2)
        bytes.append(storedAt &- Self.earliest, bytes: 5)
        bytes.append(lifetime, bytes: 3)
        bytes.append(source, bytes: 8)
        bytes.append(policy, bytes: 8)
        for count in [counts.answer, counts.authority, counts.additional] { bytes.append(count, bytes: 2) }
        bytes.append(records.count, bytes: 2)
        bytes += records
    }
}

extension AnswerHead {
    /// An answer in memory in terms that mean the same in the next process; nil where its source is not in the policy.
    init?(_ entry: CacheEntry, isSix: Bool, _ identity: PolicyIdentity, _ reading: WallClock.Reading, epoch: UInt16) {
        guard let source = identity.numbers[entry.source], let route = StoredRoute(tag: entry.route) else { return nil }
        self.init(
            isSix: isSix, isNegative: entry.isNegative, route: route, responseCode: entry.answer.responseCode,
            epoch: epoch, storedAt: reading.secondsSince1970 - Int64(entry.age(at: reading.now)),
            lifetime: entry.lifetime, source: source,
            policy: entry.generation == identity.generation ? identity.number : 0, counts: entry.answer.counts)
    }

    /// Reads the bytes of one, which are as many as `size`.
    init(_ bytes: ArraySlice<UInt8>) {
        var rest = ByteReader(bytes)
        func next(_ count: Int) -> UInt64 { rest.bytes(count)?.number ?? 0 }
        let kind = UInt16(next(1))
        (isSix, isNegative) = (kind & 1 != 0, kind & 2 != 0)
        route = StoredRoute(rawValue: kind >> 2 & 3) ?? .forward
        responseCode = ResponseCode(rawValue: kind >> 4)
        epoch = UInt16(next(2))
        storedAt = Int64(next(5)) + Self.earliest
        lifetime = UInt32(next(3))
        (source, policy) = (next(8), next(8))
        counts = PackedAnswer.SectionCounts(
            answer: UInt16(next(2)), authority: UInt16(next(2)), additional: UInt16(next(2)))
    }
}

extension [UInt8] {
    /// Of the key of a question without a scope that of its row, where AAAA stands beside A; and whether it is AAAA.
    var rowQuestion: (question: [UInt8], isSix: Bool) {
        let type = count - 4
        guard type > 0, self[type - 1] == 0, self[type] == UInt8(RecordType.aaaa.rawValue) else { return (self, false) }
        var question = self
        question[type] = UInt8(RecordType.a.rawValue)
        return (question, true)
    }
}

/// FNV-1a with 64 bits, of bytes `after` others: detects a failing disk, and is no protection against deliberate changes.
func checksum(of bytes: some Sequence<UInt8>, after start: UInt64 = 0xcbf2_9ce4_8422_2325) -> UInt64 {
    bytes.reduce(start) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
}

/// Bytes of it in a value.
let checksumSize = 8
