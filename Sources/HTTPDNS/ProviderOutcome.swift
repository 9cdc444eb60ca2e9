package import DNSWire

/// The outcome of a reply: a result for each type queried, or a failure.
package enum ProviderOutcome: Hashable, Sendable {
    case results(ProviderResults)
    case failure(UpstreamFailure)
}

/// A result for each of a few types, mostly A, or A and AAAA. Searched linearly, which is faster than a dictionary
/// then.
package struct ProviderResults: Sendable {
    package typealias Element = (type: RecordType, result: UpstreamResult)

    private var elements: [Element]

    package init() { elements = [] }

    package var count: Int { elements.count }

    /// Nil for a type without a result.
    package subscript(type: RecordType) -> UpstreamResult? {
        for index in elements.indices where elements[index].type == type { return elements[index].result }
        return nil
    }

    /// Adds the result for a type; of several for one type the first is used.
    package mutating func add(_ result: UpstreamResult, for type: RecordType) {
        for index in elements.indices where elements[index].type == type { return }
        if elements.isEmpty { elements.reserveCapacity(2) }
        elements.append((type, result))
    }
}

extension ProviderResults: Sequence {
    package func makeIterator() -> IndexingIterator<[Element]> { elements.makeIterator() }
}

extension ProviderResults: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (RecordType, UpstreamResult)...) {
        self.init()
        for (type, result) in elements { add(result, for: type) }
    }
}

extension ProviderResults: Hashable {
    /// Independent of order.
    package static func == (left: ProviderResults, right: ProviderResults) -> Bool {
        left.count == right.count && left.allSatisfy { right[$0.type] == $0.result }
    }

    package func hash(into hasher: inout Hasher) {
        for (type, result) in elements.sorted(by: { $0.type.rawValue < $1.type.rawValue }) {
            hasher.combine(type)
            hasher.combine(result)
        }
    }
}
