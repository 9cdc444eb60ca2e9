import DNSWire
import TestSupport
import Testing

import Platform

@testable import DNSServer

@Suite(.onLoop) struct MailboxTests {
    private var loop: EventLoop { LoopRunner.shared.loop }

    @Test @Loop func `what another thread posts arrives in order`() async throws {
        let mailbox = Mailbox<Int>(capacity: 10_000, on: loop)
        let inbox = Inbox<Int>()
        mailbox.receive { for number in $0 { inbox.add(number) } }
        let thread = try NamedThread("poster") {
            for number in 0..<10_000 { _ = mailbox.post(number) }
        }
        #expect(await inbox.wait(for: 10_000) == Array(0..<10_000))
        thread.join()
    }

    @Test @Loop func `values posted before there is a receiver are retained`() async {
        let mailbox = Mailbox<Int>(capacity: 10, on: loop)
        _ = mailbox.post(7)
        await loop.nextTurn()
        let inbox = Inbox<Int>()
        mailbox.receive { for number in $0 { inbox.add(number) } }
        #expect(await inbox.wait(for: 1) == [7])
    }

    @Test @Loop func `what there is no room for comes in later turns, in order`() async {
        let mailbox = Mailbox<Int>(capacity: 10, on: loop)
        let inbox = Inbox<[Int]>()
        mailbox.receive(room: { 2 }) { inbox.add($0) }
        for number in 1...5 { _ = mailbox.post(number) }
        #expect(await inbox.wait(for: 3) == [[1, 2], [3, 4], [5]])
        #expect(mailbox.isEmpty)
    }

    @Test @Loop func `what was posted comes before what else the turn brings`() async {
        let mailbox = Mailbox<String>(capacity: 10, on: loop)
        let inbox = Inbox<String>()
        mailbox.receive(room: { 10 }) { for text in $0 { inbox.add(text) } }
        await loop.nextTurn()
        _ = loop.schedule(at: loop.now) { inbox.add("due") }
        _ = mailbox.post("posted")
        #expect(await inbox.wait(for: 2) == ["posted", "due"])
    }

    @Test @Loop func `without room nothing is handed over, and what is left comes when there is some`() async {
        let mailbox = Mailbox<Int>(capacity: 10, on: loop)
        let inbox = Inbox<Int>()
        let room = Room()
        mailbox.receive(room: { room.count }) { for number in $0 { inbox.add(number) } }
        _ = mailbox.post(1)
        await loop.nextTurn()
        #expect(!mailbox.isEmpty)
        room.count = 1
        #expect(await inbox.wait(for: 1) == [1])
    }

    @Test @Loop func `what is refused is counted until it is read, and until the next is taken`() async {
        let mailbox = Mailbox<Int>(capacity: 3, on: loop)
        let inbox = Inbox<Int>()
        mailbox.receive { for number in $0 { inbox.add(number) } }
        let posted = [1, 2, 3].map { mailbox.post($0) }
        #expect(posted == [true, true, true] && !mailbox.post(4))
        #expect(mailbox.takeRefused() == 1 && mailbox.isRefusing)
        #expect(await inbox.wait(for: 3) == [1, 2, 3])
        #expect(!mailbox.isRefusing)
        #expect(mailbox.post(5))
        #expect(await inbox.wait(for: 4) == [1, 2, 3, 5])
        #expect(mailbox.takeRefused() == 0)
    }
}

/// How many values a receiver takes.
@Loop
private final class Room {
    var count = 0
}

struct SharedQueueTests {
    /// A waiting item: its network, and its number among that network's items.
    private struct Item: Equatable {
        let network: UInt32
        let number: Int
    }

    private func makeQueue(_ capacity: Int) -> SharedQueue<Item> {
        SharedQueue(capacity: capacity) {
            (ClientNetwork(.v4($0.network)), Instant(nanoseconds: Int64($0.number) * 1_000_000))
        }
    }

    private func fill(_ queue: inout SharedQueue<Item>, _ network: UInt32, _ count: Int) -> Int {
        var taken = 0
        for number in 0..<count where queue.append(Item(network: network, number: number)) { taken += 1 }
        return taken
    }

    @Test func `few come in order, whatever their networks`() {
        var queue = makeQueue(1_000)
        let items = (0..<40).map { Item(network: $0 % 3, number: Int($0)) }
        for item in items where !queue.append(item) { Issue.record("no room for \(item)") }
        var batch: [Item] = []
        queue.take(30, into: &batch)
        queue.take(30, into: &batch)
        #expect(batch == items)
    }

    @Test func `as many as were taken find room again`() {
        var queue = makeQueue(60)
        #expect(fill(&queue, 1, 100) == 60)
        var batch: [Item] = []
        queue.take(20, into: &batch)
        #expect(fill(&queue, 1, 100) == 20)
    }

    @Test(arguments: [1, 0]) func `a queue of one place, and one of none, holds one item`(capacity: Int) {
        var queue = makeQueue(capacity)
        #expect(fill(&queue, 1, 3) == 1)
    }

    @Test func `a network that asks for little waits for one turn of the others`() {
        var queue = makeQueue(1_000)
        let first = fill(&queue, 1, 500)
        #expect(first == 500)
        let second = fill(&queue, 2, 500)
        #expect(second == 500)
        let third = fill(&queue, 3, 1)
        #expect(third == 1)
        var batch: [Item] = []
        queue.take(3, into: &batch)
        #expect(Set(batch.map(\.network)) == [1, 2, 3])
    }

    @Test func `alone a network fills it, and then another one still gets its equal part`() {
        var queue = makeQueue(100)
        let first = fill(&queue, 1, 300)
        #expect(first == 100)
        let second = fill(&queue, 2, 300)
        #expect(second == 50)
        let third = fill(&queue, 3, 300)
        #expect(third == 33)
        let fourth = fill(&queue, 1, 1)
        #expect(fourth == 0)
    }

    @Test func `however many networks there are, no more than twice as many wait as there are places`() {
        var queue = makeQueue(100)
        for round in 0..<3 {
            for network in 0..<1_000 { _ = queue.append(Item(network: UInt32(network), number: round)) }
        }
        #expect(queue.count <= 200)
    }

    @Test(arguments: [1, 2, 3]) func `what got in comes out once, each network's in order`(seed: UInt64) {
        var generator = SeededNumbers(seed)
        var queue = makeQueue(200)
        var numbers: [UInt32: Int] = [:]
        var waiting: [UInt32: [Int]] = [:]
        for _ in 0..<20_000 {
            if .random(in: 0..<10, using: &generator) < 9 {
                let network = UInt32.random(in: 0..<20, using: &generator)
                let number = numbers[network, default: 0]
                if queue.append(Item(network: network, number: number)) {
                    numbers[network] = number + 1
                    waiting[network, default: []].append(number)
                }
            } else {
                var batch: [Item] = []
                queue.take(.random(in: 0..<40, using: &generator), into: &batch)
                for item in batch {
                    let number = waiting[item.network]?.removeFirst()
                    #expect(number == item.number)
                }
            }
            #expect(queue.count == waiting.values.reduce(0) { $0 + $1.count })
        }
    }

    @Test func `a network whose first item has waited for longer than allowed gets no further place, and others do`() {
        var queue = makeQueue(1_000)
        #expect(fill(&queue, 1, 100) == 100)
        queue.patience = .milliseconds(50)
        let isTaken = [(1, 50), (1, 51), (2, 500)].map { queue.append(Item(network: $0.0, number: $0.1)) }
        #expect(isTaken == [true, false, true])
        var batch: [Item] = []
        queue.take(3, into: &batch)
        // Now the first of network 1 is number 2.
        let isTakenNow = queue.append(Item(network: 1, number: 52))
        #expect(isTakenNow)
    }

    @Test func `while few wait none is refused, however long they have waited`() {
        var queue = makeQueue(1_000)
        queue.patience = .milliseconds(50)
        let isTaken = (0..<64).allSatisfy { queue.append(Item(network: 1, number: $0 * 1_000)) }
        #expect(isTaken)
    }
}
