import DNSWire
import Foundation
import Synchronization
import Testing

@testable import DNSCache

struct SlotTableTests {
    private func filled(_ count: Int, capacity: Int) -> SlotTable {
        var table = SlotTable()
        table.restart(count: count, capacity: capacity)
        for slot in 0..<count { table[slot] = UInt32(slot + 1) }
        return table
    }

    /// The number of slots before the one where probing for `hash` begins.
    private func place(of hash: UInt32, in words: UnsafeMutablePointer<SlotTable.Word>) -> Int {
        SlotTable.hint(hash, in: words) - words - 1
    }

    @Test(arguments: [0, 1, 0x7fff_ffff, 0xffff_ffff] as [UInt32])
    func `without the lock a slot is looked for where it is with it`(hash: UInt32) {
        var table = filled(16, capacity: 1_000)
        let before = table.home(hash)
        #expect(place(of: hash, in: table.words) == before)
        table.restart(count: 1_000)
        let after = table.home(hash)
        #expect(place(of: hash, in: table.words) == after)
        #expect(SlotTable.hint(hash, in: table.words).pointee.load(ordering: .relaxed) == table[after])
    }

    @Test(arguments: [(16, 16), (16, 40), (16, 100), (40, 16)])
    func `a table that begins again is empty, with all its slots`(before: Int, after: Int) {
        var table = filled(before, capacity: 40)
        table.restart(count: after, capacity: after)
        #expect(table.count == after)
        let isEmpty = (0..<after).allSatisfy { table[$0] == 0 }
        #expect(isEmpty)
    }

    @Test func `a table that shrank and grows again is empty, with the slots that it had before`() {
        var table = filled(40, capacity: 40)
        table.restart(count: 16)
        for slot in 0..<16 { table[slot] = 7 }
        table.restart(count: 40)
        let isEmpty = (0..<40).allSatisfy { table[$0] == 0 }
        #expect(isEmpty)
    }

    @Test func `a table has no more slots than there is room for`() {
        var table = SlotTable()
        table.restart(count: 17, capacity: 16)
        #expect(table.count == 16)
        table.restart(count: 17)
        #expect(table.count == 16)
    }

    @Test func `a table that needs no more room begins again in the same memory`() {
        var table = filled(16, capacity: 1_000)
        let words = table.words
        table.restart(count: 16, capacity: 1_000)
        table.restart(count: 16, capacity: 500)
        let isSame = table.words == words
        #expect(isSame)
    }

    @Test func `what was a table is still read within its slots when a larger one has its place`() {
        var table = filled(16, capacity: 16)
        let words = table.words
        for capacity in [17, 1_000, 10_000] {
            table.restart(count: capacity, capacity: capacity)
            #expect(place(of: .max, in: words) == 15)
            #expect(SlotTable.hint(.max, in: words).pointee.load(ordering: .relaxed) == 16)
        }
    }

    @Test func `tables that grow by one slot a time do not all need memory of their own`() {
        var table = filled(16, capacity: 16)
        var places: Set<UnsafeMutablePointer<SlotTable.Word>> = []
        for capacity in 17...10_000 {
            table.restart(count: 16, capacity: capacity)
            places.insert(table.words)
        }
        // Each is more than twice as large as the one before.
        #expect(places.count <= 10)
    }

    @Test func `answers are fetched ahead while the cache is given another size`() {
        let cache = MemoryCache(memory: 64 << 10)
        let queries = (0..<100).map { TestQuery("host\($0).example.com") }
        for query in queries { cache.put(Answer(name: query.question.name, addresses: [.v4(1)], ttl: 300), for: query) }
        let isOver = Atomic(false)
        let fetched = Atomic(0)
        let group = DispatchGroup()
        for _ in 0..<2 {
            group.enter()
            Thread.detachNewThread {
                while !isOver.load(ordering: .relaxed) {
                    let tickets = queries.map { cache.ticket(for: $0.query, in: $0.bytes.span) }
                    cache.prefetch(tickets.span)
                    fetched.wrappingAdd(queries.count, ordering: .relaxed)
                }
                group.leave()
            }
        }
        for memory in 1...200 {
            for part in 0..<cache.partCount {
                cache.rebuild(part: part, memory: (64 + memory % 7 * 64) << 10, policy: FreshnessPolicy())
            }
        }
        while fetched.load(ordering: .relaxed) == 0 {}
        isOver.store(true, ordering: .relaxed)
        group.wait()
        #expect(queries.allSatisfy { cache.reply(to: $0) != nil })
    }
}
