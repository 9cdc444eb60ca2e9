package import DNSCache
package import DNSWire

/// An answer as stored in the file; independent of the process that wrote it.
package struct StoredAnswer: Equatable, Sendable {
    /// In lower case.
    package var name: Name
    package var type: RecordType
    package var `class`: RecordClass
    package var dnssecOK: Bool
    package var checkingDisabled: Bool
    package var answer: PackedAnswer
    package var isNegative: Bool
    /// When it was stored, in seconds since 1970.
    package var storedAt: Int64
    /// Its original TTL, in seconds.
    package var lifetime: UInt32
    /// The source that gave the answer, as named by `PolicyIdentity`.
    package var source: String
    package var route: StoredRoute
    /// The digest of the policy under which it was stored.
    package var policy: String

    package var question: Question { Question(name: name, type: type, class: `class`) }

    /// The key of the answer in the cache.
    package var key: QueryKey { QueryKey(question, dnssecOK: dnssecOK, checkingDisabled: checkingDisabled) }

    /// What was asked of its row's name.
    var kind: RowKind { RowKind(type, `class`, flags: flags) }

    /// The checksum of all fields, which detects changes by the disk.
    var checksum: UInt64 {
        var checksum = Checksum()
        checksum.add(name.wire.span)
        return facts.checksum(name: checksum, type: type, class: `class`, flags: flags, body: answer.body.span)
    }

    var facts: RowFacts {
        RowFacts(
            responseCode: answer.responseCode, counts: answer.counts, isNegative: isNegative, storedAt: storedAt,
            lifetime: lifetime, source: source, route: route, policy: policy)
    }

    /// Seconds since it was stored; its whole lifetime where the clock was set back since.
    ///
    /// - Parameter now: seconds since 1970.
    package func age(at now: Int64) -> Int {
        now < storedAt ? Int(lifetime) : Int(min(now, StoredRange.clock.upperBound) - storedAt)
    }

    /// Whether it is too old even to be stale.
    ///
    /// - Parameter now: seconds since 1970.
    func isPast(at now: Int64, _ policy: FreshnessPolicy) -> Bool {
        storedAt + Int64(lifetime) + Int64(policy.staleWindow(lifetime: lifetime)) < now
    }

    var flags: UInt8 { (dnssecOK ? 1 : 0) | (checkingDisabled ? 2 : 0) }
}

/// The route of a stored answer. The servers of a `[[forward]]` entry are identified by the source.
package enum StoredRoute: UInt16, Hashable, Sendable {
    case protect = 0
    case protectListed = 1
    case bypass = 2
    case forward = 3

    /// Converts the number of a route in the memory cache: all `[[forward]]` entries are one. Nil for the highest
    /// numbers, which mean that the configuration itself, or perhaps a portal, gave the answer, or
    /// that its addresses stand for others.
    init?(tag: UInt16) {
        guard tag < .max - 2 else { return nil }
        self = StoredRoute(rawValue: min(tag, 3)) ?? .forward
    }
}

extension StoredAnswer {
    /// The name in the bytes of a `QueryKey`; nil for invalid bytes.
    static func name(inKey key: ArraySlice<UInt8>) -> Name? {
        key.count > 5 ? try? Name(wire: Array(key.dropLast(5))) : nil
    }
}
