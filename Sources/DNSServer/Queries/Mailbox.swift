import DNSWire
import Platform
import Synchronization

/// A bounded queue by which other threads pass values to the loop, which receives them in batches.
///
/// Posting takes one short lock, and a system call only when the loop is not about to check the queue anyway. Once its
/// two buffers have grown to the size of the largest batch, it allocates nothing.
final class Mailbox<Element: Sendable>: Sendable {
    private struct State {
        var queue: SharedQueue<Element>
        var refused = 0
    }

    private let state: Mutex<State>
    private let refuses = Atomic<Bool>(false)
    private let divided = Atomic<Bool>(false)
    private let loop: EventLoop

    /// - Parameters:
    ///   - capacity: how many values may wait at once; at least 1.
    ///   - origin: the client network of a value, by which the places are shared and the values taken in turns
    ///     (`SharedQueue`), and since when it waits; nil: not shared.
    init(
        capacity: Int, on loop: EventLoop, sharedBy origin: (@Sendable (Element) -> SharedQueue<Element>.Origin)? = nil
    ) {
        state = Mutex(State(queue: SharedQueue(capacity: capacity, origin: origin)))
        self.loop = loop
    }

    /// Posts `element`. May be called from any thread.
    ///
    /// - Returns: `false` when the mailbox is full; the value is then dropped.
    func post(_ element: Element) -> Bool {
        let count = state.withLock { state in
            guard state.queue.append(element) else {
                state.refused += 1
                refuses.store(true, ordering: .relaxed)
                return 0
            }
            divided.store(state.queue.isDivided, ordering: .relaxed)
            return state.queue.count
        }
        if count == 1 { loop.waker.wake() }
        return count > 0
    }

    /// Whether a value was dropped since some were last taken out. May be called from any thread, without the lock.
    var isRefusing: Bool { refuses.load(ordering: .relaxed) }

    /// Whether so many values wait that the client network of each counts. May be called from any thread, without the lock.
    var isDivided: Bool { divided.load(ordering: .relaxed) }

    /// How many values were dropped since the last call.
    func takeRefused() -> Int {
        state.withLock { state in
            let refused = state.refused
            state.refused = 0
            return refused
        }
    }

    /// Sets how long the first value of a client network may have waited before further ones of the network are refused;
    /// nil: for any time. Waiting values stay.
    func refuse(after patience: Duration?) { state.withLock { $0.queue.patience = patience } }

    /// How many values wait.
    var count: Int { state.withLock { $0.queue.count } }

    /// Whether nothing waits.
    var isEmpty: Bool { count == 0 }

    /// Takes out the first `limit` waiting values.
    func take(_ limit: Int = .max) -> [Element] {
        var values: [Element] = []
        take(limit, into: &values)
        return values
    }

    /// Sets the handler that receives the values, in order of posting unless client networks share the mailbox,
    /// including those posted so far. Called once.
    ///
    /// - Parameter room: how many values may be passed on now, perhaps none; the rest is passed on in later turns.
    ///   Called in each turn.
    @Loop
    func receive(
        room: @escaping @Loop () -> Int = { .max }, _ handler: @escaping @Loop ([Element]) -> Void
    ) {
        var batch: [Element] = []
        loop.inEachTurn { [self] in
            take(room(), into: &batch)
            guard !batch.isEmpty else { return }
            handler(batch)
            batch.removeAll(keepingCapacity: true)
        } hasMore: { [self] in
            !isEmpty && room() > 0
        }
    }

    /// Moves the first `limit` waiting values into `batch`.
    private func take(_ limit: Int, into batch: inout [Element]) {
        state.withLock { state in
            refuses.store(false, ordering: .relaxed)
            state.queue.take(limit, into: &batch)
            divided.store(state.queue.isDivided, ordering: .relaxed)
        }
    }
}

/// A bounded queue that client networks share: first in, first out while few values wait; above that, first in, first
/// out for each network, and round-robin among the networks.
///
/// A single network may fill it. When it is full, a network below its equal part of the places is still admitted; so it
/// holds at most twice as many values as places. A network with few queries waits for one turn, however many the others
/// have.
struct SharedQueue<Element> {
    /// The client network of an element, and since when it waits.
    typealias Origin = (network: ClientNetwork, since: Instant)

    /// Up to this number there is no round-robin, and nothing is counted by network: it costs what an array does.
    private let few: Int
    /// How many values may wait, at least 1.
    private let capacity: Int
    private(set) var count = 0
    /// Whether so many wait that the network of each counts.
    var isDivided: Bool { !turns.isEmpty }
    /// How long the first element of a network may have waited before further ones of the network are refused; nil: for
    /// any time. Does not apply while few wait.
    var patience: Duration?
    /// Nil: not shared.
    private let origin: (@Sendable (Element) -> Origin)?
    /// The waiting elements while there are few, in order.
    private var elements: [Element] = []
    /// The waiting elements otherwise, in order for each network.
    private var lanes: [Lane] = []
    private var freeLanes: [Int] = []
    private var places: [ClientNetwork: Int] = [:]
    /// The indices of the non-empty lanes, in the order of their turns.
    private var turns = Line<Int>()

    private struct Lane {
        let network: ClientNetwork
        var elements = Line<Element>()
    }

    init(capacity: Int, few: Int = 64, origin: (@Sendable (Element) -> Origin)?) {
        self.capacity = max(1, capacity)
        self.few = few
        self.origin = origin
    }

    /// Appends an element. Returns whether there was room.
    mutating func append(_ element: Element) -> Bool {
        guard let origin else { return appendInOrder(element) }
        if !isDivided {
            if count < few { return appendInOrder(element) }
            divide(by: origin)
        }
        let (holder, since) = origin(element)
        let place = places[holder]
        // With one more it would have no more than its equal part.
        let held = place.map { lanes[$0].elements.count } ?? 0
        guard count < capacity || held < capacity / (places.count + (place == nil ? 1 : 0)) else { return false }
        if let patience, let place, let first = lanes[place].elements.first, origin(first).since + patience < since {
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

    private mutating func divide(by origin: (Element) -> Origin) {
        for element in elements {
            let holder = origin(element).network
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

    /// Moves the next elements, `limit` at most, to the end of `batch`.
    mutating func take(_ limit: Int, into batch: inout [Element]) {
        guard isDivided else { return takeInOrder(limit, into: &batch) }
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

/// A first-in, first-out queue.
private struct Line<Element> {
    private var elements: [Element?] = []
    /// Elements before this index were removed.
    private var start = 0

    var count: Int { elements.count - start }
    var isEmpty: Bool { count == 0 }
    var first: Element? { start < elements.count ? elements[start] : nil }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard start < elements.count else { return nil }
        let element = elements[start].take()
        start += 1
        // Moving the rest costs no more than the removals did.
        if start * 2 > elements.count {
            elements.removeSubrange(..<start)
            start = 0
        }
        return element
    }
}
