import DNSWire

/// A bounded queue that client networks share: the first in is the first out while few wait, and beyond that each network's own,
/// the networks by turns.
///
/// Alone a network may fill it. When it is full, a network still gets in what is less than its equal part of all places; so there are
/// at most twice as many as places. A network that asks for little waits for one turn, however much the others ask for.
struct SharedQueue<Element> {
    /// With no more than this many there are no turns, and nothing is counted: it costs what an array does.
    private static var few: Int { 64 }

    /// How many may wait, at least 1; what waits already stays.
    var capacity: Int { didSet { capacity = max(1, capacity) } }
    private(set) var count = 0
    /// Whose an element is; nil: all are one network's.
    private let network: (@Sendable (Element) -> ClientNetwork)?
    /// What waits while that is little, in order.
    private var elements: [Element] = []
    /// What waits otherwise, each network's in order.
    private var lanes: [Lane] = []
    private var freeLanes: [Int] = []
    private var places: [ClientNetwork: Int] = [:]
    /// The places of the lanes that have something, in the order of their turns.
    private var turns = Line<Int>()

    private struct Lane {
        let network: ClientNetwork
        var elements = Line<Element>()
    }

    init(capacity: Int, network: (@Sendable (Element) -> ClientNetwork)?) {
        self.capacity = max(1, capacity)
        self.network = network
    }

    /// Returns whether there was room.
    mutating func append(_ element: Element) -> Bool {
        guard let network else { return appendInOrder(element) }
        if turns.isEmpty {
            if count < Self.few { return appendInOrder(element) }
            divide(by: network)
        }
        let holder = network(element)
        let place = places[holder]
        guard count < capacity || isLess(held: place.map { lanes[$0].elements.count } ?? 0, isNew: place == nil) else {
            return false
        }
        add(element, of: holder, at: place)
        count += 1
        return true
    }

    private mutating func appendInOrder(_ element: Element) -> Bool {
        guard count < capacity else { return false }
        elements.append(element)
        count += 1
        return true
    }

    /// Whether a network with one more would have no more than its equal part.
    private func isLess(held: Int, isNew: Bool) -> Bool {
        held < capacity / (places.count + (isNew ? 1 : 0))
    }

    private mutating func divide(by network: (Element) -> ClientNetwork) {
        for element in elements {
            let holder = network(element)
            add(element, of: holder, at: places[holder])
        }
        elements.removeAll(keepingCapacity: true)
    }

    private mutating func add(_ element: Element, of holder: ClientNetwork, at place: Int?) {
        if let place { return lanes[place].elements.append(element) }
        var lane = Lane(network: holder)
        lane.elements.append(element)
        let place: Int
        if let free = freeLanes.popLast() {
            place = free
            lanes[place] = lane
        } else {
            place = lanes.count
            lanes.append(lane)
        }
        places[holder] = place
        turns.append(place)
    }

    /// Moves the next ones, `limit` at most, to the end of `batch`.
    mutating func take(_ limit: Int, into batch: inout [Element]) {
        guard !turns.isEmpty else { return takeInOrder(limit, into: &batch) }
        for _ in 0..<min(limit, count) {
            guard let place = turns.popFirst(), let element = lanes[place].elements.popFirst() else { break }
            count -= 1
            batch.append(element)
            if lanes[place].elements.isEmpty {
                places[lanes[place].network] = nil
                freeLanes.append(place)
            } else {
                turns.append(place)
            }
        }
        if count == 0 { (lanes, freeLanes, places) = ([], [], [:]) }
    }

    private mutating func takeInOrder(_ limit: Int, into batch: inout [Element]) {
        if elements.count <= limit, batch.isEmpty {
            swap(&elements, &batch)
            count = 0
        } else {
            batch.append(contentsOf: elements.prefix(limit))
            elements.removeFirst(min(limit, elements.count))
            count = elements.count
        }
    }
}

/// First in, first out.
private struct Line<Element> {
    private var elements: [Element?] = []
    /// Those before were taken.
    private var start = 0

    var count: Int { elements.count - start }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard start < elements.count else { return nil }
        let element = elements[start].take()
        start += 1
        // Moving the rest costs no more than what was taken did.
        if start * 2 > elements.count {
            elements.removeSubrange(..<start)
            start = 0
        }
        return element
    }
}
