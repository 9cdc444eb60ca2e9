package import DNSWire

/// What a reply means, for each type that was asked.
package enum ServiceOutcome: Hashable, Sendable {
    case results(ServiceResults)
    case failure(ServiceFailure)
}

/// A result for each of a few types: mostly A, or A and AAAA. Walked, for that is quicker than a dictionary then.
package struct ServiceResults: Sendable {
    package typealias Element = (type: RecordType, result: ServiceResult)

    private var elements: [Element]

    package init() { elements = [] }

    package var count: Int { elements.count }

    /// Nil for a type of which nothing was told.
    package subscript(type: RecordType) -> ServiceResult? {
        for index in elements.indices where elements[index].type == type { return elements[index].result }
        return nil
    }

    /// Adds the result for a type; of several for one type the first counts.
    package mutating func add(_ result: ServiceResult, for type: RecordType) {
        for index in elements.indices where elements[index].type == type { return }
        if elements.isEmpty { elements.reserveCapacity(2) }
        elements.append((type, result))
    }
}

extension ServiceResults: Sequence {
    package func makeIterator() -> IndexingIterator<[Element]> { elements.makeIterator() }
}

extension ServiceResults: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (RecordType, ServiceResult)...) {
        self.init()
        for (type, result) in elements { add(result, for: type) }
    }
}

extension ServiceResults: Hashable {
    /// Their order does not count.
    package static func == (left: ServiceResults, right: ServiceResults) -> Bool {
        left.count == right.count && left.allSatisfy { right[$0.type] == $0.result }
    }

    package func hash(into hasher: inout Hasher) {
        for (type, result) in elements.sorted(by: { $0.type.rawValue < $1.type.rawValue }) {
            hasher.combine(type)
            hasher.combine(result)
        }
    }
}

/// What a service told of one type.
package enum ServiceResult: Hashable, Sendable {
    /// Records, or a told NXDOMAIN or NODATA with its SOA.
    case answer(Answer)
    /// Nothing, and the wire does not tell why: unknown to the service, no such name, or no such record.
    ///
    /// `ttl`: seconds that the service gave for it, if it did.
    case unknownEmpty(ttl: UInt32?)
}

/// Why a service gave no answer, by what should be done next. Texts never hold secrets.
package enum ServiceFailure: Error, Hashable, Sendable {
    /// The next address, then the next service: time-outs, 429, 5xx, bodies that cannot be read.
    case unavailable(String, retryAfter: UInt32? = nil)
    /// The account or signature is refused: put the service aside, do not retry.
    case authentication(String)
    /// Our clock differs from the service's by more than it takes; `serverTime` in seconds since 1970, if it told.
    case clockSkew(String, serverTime: Int64?)
    /// The service refuses this question and would again: the next service, no retry.
    case rejected(String)
    /// The service is well and could not answer this question: SERVFAIL, REFUSED and the like. The next service.
    case responseCode(ResponseCode)
}
