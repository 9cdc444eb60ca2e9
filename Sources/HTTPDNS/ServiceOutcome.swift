package import DNSWire

/// The outcome of a reply: a result for each type queried, or a failure.
package enum ServiceOutcome: Hashable, Sendable {
    case results(ServiceResults)
    case failure(ServiceFailure)
}

/// A result for each of a few types, mostly A, or A and AAAA. Searched linearly, which is faster than a dictionary
/// then.
package struct ServiceResults: Sendable {
    package typealias Element = (type: RecordType, result: ServiceResult)

    private var elements: [Element]

    package init() { elements = [] }

    package var count: Int { elements.count }

    /// Nil for a type without a result.
    package subscript(type: RecordType) -> ServiceResult? {
        for index in elements.indices where elements[index].type == type { return elements[index].result }
        return nil
    }

    /// Adds the result for a type; of several for one type the first is used.
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
    /// Independent of order.
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

/// The service's result for one type.
package enum ServiceResult: Hashable, Sendable {
    /// Records, or NXDOMAIN or NODATA with its SOA.
    case answer(Answer)
    /// An indeterminate empty response: without a reason, such as a name unknown to the service, NXDOMAIN or NODATA.
    ///
    /// `ttl`: the seconds that the service gave for it, if any.
    case indeterminateEmpty(ttl: UInt32?)
}

/// Why a service gave no answer, by what is done next. Texts never contain secrets.
package enum ServiceFailure: Error, Hashable, Sendable {
    /// Try the next address, then the next service: time-outs, 429, 5xx, unreadable bodies.
    case unavailable(String, retryAfter: UInt32? = nil)
    /// The account or signature is refused: the service goes into backoff, without a retry.
    case authentication(String)
    /// Our clock differs from the service's by more than it accepts; `serverTime` in seconds since 1970, if it sent
    /// that.
    case clockSkew(String, serverTime: Int64?)
    /// The service refuses this query and would again: the next service, without a retry.
    case rejected(String)
    /// The service works but could not answer this query: SERVFAIL, REFUSED and the like. The next service.
    case responseCode(ResponseCode)
}
