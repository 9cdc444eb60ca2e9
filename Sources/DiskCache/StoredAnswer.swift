package import DNSCache
package import DNSWire
import Scheduling

/// An answer as stored in the file; independent of the process that wrote it.
package struct StoredAnswer: Equatable, Sendable {
    /// With its name in lower case.
    package var question: Question
    package var dnssecOK: Bool
    package var checkingDisabled: Bool
    package var answer: PackedAnswer
    package var head: AnswerHead

    /// The key of the answer in the cache.
    package var key: QueryKey { QueryKey(question, dnssecOK: dnssecOK, checkingDisabled: checkingDisabled) }

    /// Seconds since it was stored; its whole lifetime where the clock was set back since.
    ///
    /// - Parameter now: seconds since 1970.
    package func age(at now: Int64) -> Int {
        now < head.storedAt ? Int(head.lifetime) : Int(min(now, WallClock.range.upperBound) - head.storedAt)
    }

    /// Seconds after its storing for which it may be served, fresh or stale.
    static func usefulness(lifetime: UInt32, _ policy: FreshnessPolicy) -> Int64 {
        Int64(lifetime) + Int64(policy.staleWindow(lifetime: lifetime))
    }

    /// The entry for a row; nil when the current policy does not let this source answer this name.
    ///
    /// - Parameter age: seconds since it was stored; nil: it is not known. Then it is stale, and not only by a little: a
    ///   client waits longer for a better answer.
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
    /// Reads the value of a row: the answers to its question, each a head and records, and a checksum of all. It is checked
    /// as if it had come from the network.
    ///
    /// Of a name's addresses A and AAAA are one row, since most services are asked for both at once; its question has the
    /// type A.
    ///
    /// - Parameter question: name in lower case, type, class, and a byte of flags, as in a `QueryKey`.
    /// - Returns: nil for a value that is not as it was written.
    static func read(_ value: [UInt8], of question: [UInt8]) -> [StoredAnswer]? {
        let (end, tail) = (value.count - checksumSize, Array(question.suffix(5)))
        guard end > 0, question.count > 5, tail[4] < 4 else { return nil }
        let sum = checksum(of: value[..<end], after: checksum(of: question))
        guard value[end...].reduce(0, { $0 << 8 | UInt64($1) }) == sum,
            let name = try? Name(wire: Array(question.dropLast(5)))
        else { return nil }
        let type = RecordType(rawValue: UInt16(tail[0]) << 8 | UInt16(tail[1]))
        let `class` = RecordClass(rawValue: UInt16(tail[2]) << 8 | UInt16(tail[3]))
        var answers: [StoredAnswer] = []
        var start = 0
        while start < end {
            let records = start + AnswerHead.size
            guard records <= end else { return nil }
            let next = records + (Int(value[records - 2]) << 8 | Int(value[records - 1]))
            let head = AnswerHead(value[start..<records])
            // AAAA stands last.
            guard next <= end, type != .aaaa, !head.isSix || type == .a,
                answers.last.map({ head.isSix && !$0.head.isSix }) ?? true,
                let answer = StoredAnswer(
                    Question(name: name, type: head.isSix ? .aaaa : type, class: `class`), flags: tail[4], head,
                    Array(value[records..<next]))
            else { return nil }
            answers.append(answer)
            start = next
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
