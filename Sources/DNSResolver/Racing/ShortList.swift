/// A list that mostly has one element, which then needs no heap storage.
struct ShortList<Element> {
    private(set) var first: Element?
    private var others: [Element] = []

    init() {}

    var last: Element? { others.last ?? first }

    mutating func append(_ element: consuming Element) {
        if first == nil { first = element } else { others.append(element) }
    }

    /// Removes the elements for which `isUnwanted` is true.
    mutating func remove(where isUnwanted: (Element) -> Bool) {
        if !others.isEmpty { others.removeAll(where: isUnwanted) }
        if let element = first, isUnwanted(element) { first = others.isEmpty ? nil : others.removeFirst() }
    }

    /// Calls `body` with each element, in the order in which they were appended.
    func forEach(_ body: (Element) -> Void) {
        if let first { body(first) }
        for element in others { body(element) }
    }
}

extension ShortList: Equatable where Element: Equatable {}
extension ShortList: Hashable where Element: Hashable {}
extension ShortList: Sendable where Element: Sendable {}
