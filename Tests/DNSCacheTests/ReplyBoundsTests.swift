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

    @Test(
        arguments: [[0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 1, 0x2c, 0, 4, 192, 0, 2, 1], Array(repeating: 1, count: 20)]
            as [[UInt8]])
    func `an answer of fewer records than it says is not sent`(body: [UInt8]) throws {
        let query = TestQuery("example.com", edns: EDNS())
        let answer = PackedAnswer(responseCode: .noError, counts: .init(answer: 2), body: body)
        let bytes = output { span in
            Reply.write(
                answer, to: query.query, message: query.bytes.span, aging: .fresh(age: 0), limit: 1_232, into: &span)
        }
        let reply = try MessageParser.parse(bytes)
        #expect(reply.answers.isEmpty && reply.flags.contains(.truncated))
    }
}
