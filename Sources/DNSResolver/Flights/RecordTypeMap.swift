package import DNSWire

/// A map from record types to values, for few types: mostly A, or A and AAAA. Up to two need no heap storage.
package struct RecordTypeMap<Value> {
    package typealias Element = (key: RecordType, value: Value)

    // Type and value are separate fields: as optional pairs they would be copied by way of the runtime.
    private var firstType = RecordType.a
    private var first: Value?
    private var secondType = RecordType.a
    private var second: Value?
    private var others: [Element] = []

    package init() {}

    /// Of several values for one type the first counts.
    package init(_ elements: some Sequence<(RecordType, Value)>) {
        for (type, value) in elements where self[type] == nil { self[type] = value }
    }

    package subscript(type: RecordType) -> Value? {
        get {
            if firstType == type, let first { return first }
            if secondType == type, let second { return second }
            return others.isEmpty ? nil : others.first { $0.key == type }?.value
        }
        set {
            if first != nil, firstType == type {
                first = newValue
            } else if second != nil, secondType == type {
                second = newValue
            } else if let index = others.firstIndex(where: { $0.key == type }) {
                if let newValue { others[index].value = newValue } else { others.remove(at: index) }
            } else if let newValue {
                add(newValue, for: type)
            }
        }
    }

    /// Adds a value for a type that has none.
    private mutating func add(_ value: Value, for type: RecordType) {
        if first == nil {
            (firstType, first) = (type, value)
        } else if second == nil {
            (secondType, second) = (type, value)
        } else {
            others.append((key: type, value: value))
        }
    }

    // These need no iterator, which would copy the map.

    /// Calls `body` with each type and its value.
    package func forEach(_ body: (RecordType, Value) -> Void) {
        if let first { body(firstType, first) }
        if let second { body(secondType, second) }
        for (type, value) in others { body(type, value) }
    }

    /// Whether `isWanted` is true for one of the values.
    package func containsValue(where isWanted: (Value) -> Bool) -> Bool {
        if let first, isWanted(first) { return true }
        if let second, isWanted(second) { return true }
        return others.contains { isWanted($0.value) }
    }
}

extension RecordTypeMap: Sendable where Value: Sendable {}

extension RecordTypeMap: Sequence {
    package struct Iterator: IteratorProtocol {
        fileprivate let map: RecordTypeMap
        private var position = 0

        fileprivate init(_ map: RecordTypeMap) { self.map = map }

        package mutating func next() -> Element? {
            if position == 0 {
                position = 1
                if let first = map.first { return (map.firstType, first) }
            }
            if position == 1 {
                position = 2
                if let second = map.second { return (map.secondType, second) }
            }
            guard position - 2 < map.others.count else { return nil }
            position += 1
            return map.others[position - 3]
        }
    }

    package func makeIterator() -> Iterator { Iterator(self) }
}

extension RecordTypeMap: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (RecordType, Value)...) { self.init(elements) }
}

extension RecordTypeMap: Equatable where Value: Equatable {
    package static func == (left: RecordTypeMap, right: RecordTypeMap) -> Bool {
        left.allSatisfy { right[$0.key] == $0.value } && right.allSatisfy { left[$0.key] != nil }
    }
}
