package import DNSWire

/// A value for each of a few record types: mostly A, or A and AAAA. Two of them need no memory of their own.
@frozen
package struct RecordTypeMap<Value> {
    package typealias Element = (key: RecordType, value: Value)

    @usableFromInline var first: Element?
    @usableFromInline var second: Element?
    @usableFromInline var others: [Element] = []

    @inlinable
    package init() {}

    /// Of several values for one type the first counts.
    @inlinable
    package init(_ elements: some Sequence<(RecordType, Value)>) {
        for (type, value) in elements where self[type] == nil { self[type] = value }
    }

    @inlinable
    package subscript(type: RecordType) -> Value? {
        get {
            if let first, first.key == type { return first.value }
            if let second, second.key == type { return second.value }
            return others.isEmpty ? nil : others.first { $0.key == type }?.value
        }
        set {
            let element = newValue.map { (key: type, value: $0) }
            if first?.key == type {
                first = element
            } else if second?.key == type {
                second = element
            } else if let index = others.firstIndex(where: { $0.key == type }) {
                if let element { others[index] = element } else { others.remove(at: index) }
            } else if let element {
                if first == nil {
                    first = element
                } else if second == nil {
                    second = element
                } else {
                    others.append(element)
                }
            }
        }
    }

    @inlinable
    package subscript(type: RecordType, default value: @autoclosure () -> Value) -> Value {
        get { self[type] ?? value() }
        set { self[type] = newValue }
    }

    @inlinable package var isEmpty: Bool { first == nil && second == nil && others.isEmpty }

    @inlinable package var count: Int { (first == nil ? 0 : 1) + (second == nil ? 0 : 1) + others.count }

    /// Adds those of another map, of both for the same type keeps its own.
    @inlinable
    package mutating func add(_ other: RecordTypeMap) {
        for (type, value) in other where self[type] == nil { self[type] = value }
    }

    /// The values, in the order of iteration.
    @inlinable package var values: some Sequence<Value> { lazy.map { $0.value } }
}

extension RecordTypeMap: Sendable where Value: Sendable {}

extension RecordTypeMap: Sequence {
    @frozen
    package struct Iterator: IteratorProtocol {
        @usableFromInline let map: RecordTypeMap
        @usableFromInline var position = 0

        @inlinable
        init(_ map: RecordTypeMap) { self.map = map }

        @inlinable
        package mutating func next() -> Element? {
            if position == 0 {
                position = 1
                if let first = map.first { return first }
            }
            if position == 1 {
                position = 2
                if let second = map.second { return second }
            }
            guard position - 2 < map.others.count else { return nil }
            position += 1
            return map.others[position - 3]
        }
    }

    @inlinable
    package func makeIterator() -> Iterator { Iterator(self) }
}

extension RecordTypeMap: ExpressibleByDictionaryLiteral {
    @inlinable
    package init(dictionaryLiteral elements: (RecordType, Value)...) { self.init(elements) }
}

extension RecordTypeMap: Equatable where Value: Equatable {
    package static func == (left: RecordTypeMap, right: RecordTypeMap) -> Bool {
        left.allSatisfy { right[$0.key] == $0.value } && right.allSatisfy { left[$0.key] != nil }
    }
}

extension RecordTypeMap: Hashable where Value: Hashable {
    package func hash(into hasher: inout Hasher) {
        for (type, value) in self.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            hasher.combine(type)
            hasher.combine(value)
        }
    }
}
