import DNSWire
import Testing

@testable import DNSResolver

/// What waits for its turn, from several client networks.
struct FairQueueTests {
    private let flooder = ClientNetwork(.v4(0xc000_0201))
    private let other = ClientNetwork(.v4(0xc000_0202))

    private func queue(_ count: Int, capacity: Int = 1_000) -> FairQueue<String> {
        let queue = FairQueue<String>(capacity: capacity)
        for number in 0..<count { _ = queue.append("f\(number)", for: flooder) }
        return queue
    }

    private func next(of queue: FairQueue<String>, _ held: (ClientNetwork) -> Int = { _ in 0 }) -> String? {
        queue.first(held).flatMap { queue.take($0) }
    }

    @Test func `a client with few elements waits behind one of each other client`() {
        let queue = queue(100)
        _ = queue.append("o", for: other)
        #expect((0..<3).map { _ in next(of: queue) } == ["f0", "o", "f1"])
        #expect(queue.count == 98)
    }

    @Test func `the client that holds least comes first`() {
        let queue = queue(100)
        for number in 0..<3 { _ = queue.append("o\(number)", for: other) }
        let holdings = [flooder: 5, other: 2]
        #expect((0..<4).map { _ in next(of: queue) { holdings[$0] ?? 0 } } == ["o0", "o1", "o2", "f0"])
    }

    @Test func `one client alone is served first in, first out`() {
        let queue = queue(4)
        #expect((0..<5).map { _ in next(of: queue) } == ["f0", "f1", "f2", "f3", nil])
    }

    @Test func `when it is full the client with most is displaced, and never by itself`() {
        let queue = queue(9, capacity: 9)
        #expect(queue.isFull)
        #expect(queue.displace(for: flooder) == nil)
        #expect(queue.displace(for: other) == "f0")
        #expect(!queue.isFull)
    }

    @Test func `one that leaves is not served, and its client has no turn`() {
        let queue = queue(1)
        let place = queue.append("gone", for: other)
        #expect(queue.remove(place) == "gone")
        #expect(queue.remove(place) == nil)
        _ = queue.append("back", for: other)
        #expect((0..<3).map { _ in next(of: queue) } == ["f0", "back", nil])
        #expect(queue.count == 0 && queue.all.isEmpty)
    }

    @Test func `of one client's elements the first that may be taken comes first`() {
        let queue = queue(3)
        func next() -> String? { queue.first({ _ in 0 }, where: { $0 != "f0" }).flatMap { queue.take($0) } }
        #expect((0..<3).map { _ in next() } == ["f1", "f2", nil])
        #expect(queue.count == 1)
    }

    @Test func `a client whose elements may not be taken leaves its turn to others`() {
        let queue = queue(2)
        _ = queue.append("o", for: other)
        func next() -> String? {
            queue.first({ $0 == other ? 1 : 0 }, where: { $0 == "o" }).flatMap { queue.take($0) }
        }
        #expect((0..<2).map { _ in next() } == ["o", nil])
    }
}
