package import DNSWire

/// The outcome of a reply: a result for each type queried, or a failure.
package enum ProviderOutcome: Equatable, Sendable {
    case results(ProviderResults)
    case failure(UpstreamFailure)
}

/// A result for each type of a question: one type, or A and AAAA. It needs no heap storage.
package struct ProviderResults: Sendable {
    package typealias Element = (type: RecordType, result: UpstreamResult)

    // Type and result are separate fields: as optional pairs they would be copied by way of the runtime.
    private var firstType = RecordType.a
    private var first: UpstreamResult?
    private var secondType = RecordType.a
    private var second: UpstreamResult?

    package init() {}

    /// Nil for a type without a result.
    package subscript(type: RecordType) -> UpstreamResult? {
        if firstType == type, let first { return first }
        return secondType == type ? second : nil
    }

    /// Adds the result for a type; of several for one type the first is used.
    package mutating func add(_ result: UpstreamResult, for type: RecordType) {
        if first == nil {
            (firstType, first) = (type, result)
        } else if second == nil, firstType != type {
            (secondType, second) = (type, result)
        }
    }

    package var isEmpty: Bool { first == nil }

    /// How many of them are answers with an address: these are what vendors bill.
    package var addressAnswers: Int { Self.hasAddress(first) + Self.hasAddress(second) }

    private static func hasAddress(_ result: UpstreamResult?) -> Int {
        guard case .answer(let answer)? = result else { return 0 }
        return answer.answers.contains { $0.address != nil } ? 1 : 0
    }

    /// Whether one of them is an answer.
    var hasAnswer: Bool {
        if case .answer? = first { return true }
        if case .answer? = second { return true }
        return false
    }
}

extension ProviderResults: Sequence {
    package func makeIterator() -> IndexingIterator<[Element]> {
        [(firstType, first), (secondType, second)].compactMap { type, result in result.map { (type, $0) } }
            .makeIterator()
    }
}

extension ProviderResults: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (RecordType, UpstreamResult)...) {
        self.init()
        for (type, result) in elements { add(result, for: type) }
    }
}

extension ProviderResults: Equatable {
    /// Independent of order.
    package static func == (left: ProviderResults, right: ProviderResults) -> Bool {
        left.allSatisfy { right[$0.type] == $0.result } && right.allSatisfy { left[$0.type] != nil }
    }
}
