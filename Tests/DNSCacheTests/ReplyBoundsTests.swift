import DNSWire
import Testing

@testable import DNSCache

/// What is not written: the fuzz targets Reply, CacheBlocks and DatagramSlots write everything else between pages that must not
/// be accessed.
struct ReplyBoundsTests {
    @Test func `a query that was read from a longer message gets nothing`() throws {
        let query = TestQuery("a.name.of.some.length.example")
        for count in [12, 16, 17, query.bytes.count - 1] {
            let part = Array(query.bytes.prefix(count))
            let bytes = output { span in
                let isWritten = Reply.write(.refused, to: query.query, message: part.span, limit: 1_232, into: &span)
                #expect(!isWritten)
            }
            #expect(bytes.isEmpty)
        }
    }

    @Test func `an answer with another number of TTLs than of records is not stored`() {
        let cache = MemoryCache(memory: 1 << 20)
        let query = TestQuery("example.com")
        let record: [UInt8] = [0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 1, 0x2c, 0, 4, 192, 0, 2, 1]
        for (count, offsets) in [(1, []), (1, [6, 6]), (60_000, [6])] as [(UInt16, [UInt16])] {
            let answer = PackedAnswer(
                responseCode: .noError, counts: .init(answer: count), body: record, ttlOffsets: offsets)
            let entry = CacheEntry(answer: answer, storedAt: at(1_000), lifetime: 300, generation: 1)
            #expect(!cache.store(entry, for: query.key))
            #expect(cache.reply(to: query) == nil)
        }
    }

    @Test func `an answer whose TTL lies outside of it is not sent`() throws {
        let query = TestQuery("example.com")
        let answer = PackedAnswer(
            responseCode: .noError, counts: .init(answer: 1), body: [UInt8](repeating: 1, count: 20), ttlOffsets: [17])
        let bytes = output { span in
            Reply.write(
                answer, to: query.query, message: query.bytes.span, aging: .fresh(age: 0), limit: 1_232, into: &span)
        }
        let reply = try MessageParser.parse(bytes)
        #expect(reply.answers.isEmpty && reply.flags.contains(.truncated))
    }
}
