import DNSCache
import DNSWire
import Foundation
import Synchronization
import Testing

struct SharedCacheTests {
    /// Runs `body` on as many threads at once as there are numbers, and waits for all.
    private func onThreads(_ numbers: Range<Int>, _ body: @escaping @Sendable (Int) -> Void) {
        let group = DispatchGroup()
        for number in numbers {
            group.enter()
            Thread.detachNewThread {
                body(number)
                group.leave()
            }
        }
        group.wait()
    }

    @Test func `four threads that read, store and remove never see a torn or foreign answer`() {
        let cache = MemoryCache(memory: 32 << 10)
        let names = (0..<400).map { "host\($0).example.com" }
        // Answers are stored before the storing thread has its turn, so that there is something to read.
        for name in names { cache.put(checksummed(name), for: TestQuery(name)) }
        let hits = Atomic(0)
        let wrong = Atomic(0)
        onThreads(0..<4) { thread in
            let queries = names.map { TestQuery($0) }
            var random = Random(state: UInt64(thread) + 1)
            for round in 0..<8_000 {
                let number = Int(random.next() % UInt64(names.count))
                switch thread {
                case 0:
                    // One to four copies of the record, so that blocks move.
                    let record = checksummed(names[number]).answers[0]
                    let answer = Answer(answers: Array(repeating: record, count: 1 + round % 4))
                    cache.put(answer, for: queries[number])
                    if round % 97 == 0 { cache.remove(queries[number].key) }
                    if round % 89 == 0 { cache.restamp(queries[number].key, generation: 1, rotates: false) }
                default:
                    guard let reply = cache.reply(to: queries[number]) else { continue }
                    hits.wrappingAdd(1, ordering: .relaxed)
                    let records = (try? MessageParser.parse(reply))?.answers ?? []
                    let expected = checksummed(names[number]).answers[0]
                    if !(1...4).contains(records.count) || records.contains(where: { $0 != expected }) {
                        wrong.wrappingAdd(1, ordering: .relaxed)
                    }
                }
            }
        }
        #expect(wrong.load(ordering: .relaxed) == 0)
        #expect(hits.load(ordering: .relaxed) > 100)
    }

    @Test func `threads that meet at one entry all get it`() {
        let cache = MemoryCache()
        let query = TestQuery("www.example.com")
        cache.put(checksummed("www.example.com"), for: query)
        onThreads(0..<4) { _ in
            for _ in 0..<20_000 where cache.reply(to: query) == nil { Issue.record("a miss") }
        }
        #expect(cache.statistics.hits == 80_000)
    }
}
