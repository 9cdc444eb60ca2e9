import DNSWire
import TestServers
import TestSupport
import Testing

@testable import DNSServer

@Suite(.onLoop) struct ReplyBufferTests {
    @Loop private func compose(_ byte: UInt8, count: Int) -> [UInt8] {
        ReplyBuffer.compose(isPadded: false) { $0.append(repeating: byte, count: count) }
    }

    @Test @Loop func `a response takes the memory that it needs, not that of the longest one`() {
        #expect(compose(1, count: 100).capacity < 200)
    }

    @Test @Loop func `a response stays as it is when the next one is composed`() {
        let (first, second) = (compose(1, count: 100), compose(2, count: 50))
        #expect(first == [UInt8](repeating: 1, count: 100))
        #expect(second == [UInt8](repeating: 2, count: 50))
    }

    @Test @Loop func `the longest response has room`() {
        #expect(compose(3, count: MessageBuilder.maximumLength).count == 65_535)
    }
}

struct PaddingTests {
    /// A response with one address and so many bytes of text, with an OPT record or without.
    private func response(_ text: Int, edns: EDNS?) throws -> [UInt8] {
        var builder = MessageBuilder(id: 1, flags: [])
        builder.append(Question(name: try Name("www.example"), type: .a))
        builder.append(
            Record(name: try Name("www.example"), type: .txt, ttl: 1, rdata: [UInt8](repeating: 1, count: text)),
            to: .answer)
        if let edns { builder.append(edns) }
        return builder.bytes
    }

    @Test(arguments: [1, 380, 404, 405, 410, 411, 412, 413, 1_000])
    func `a response is padded to the next multiple of 468 bytes, and says nothing else`(text: Int) throws {
        let plain = try response(text, edns: EDNS())
        var padded = plain
        ReplyBuffer.pad(&padded)
        #expect(padded.count % 468 == 0 && padded.count < plain.count + 4 + 468)
        let message = try TestMessage(decoding: padded)
        #expect(message.edns?.options.map(\.code) == [12])
        let answers = try TestMessage(decoding: plain).answers
        #expect(message.answers == answers)
    }

    @Test func `the other options of a response stay as they are`() throws {
        let cookie = EDNSOption(code: .cookie, data: [1, 2, 3, 4, 5, 6, 7, 8])
        var padded = try response(10, edns: EDNS(options: [cookie]))
        ReplyBuffer.pad(&padded)
        let options = try #require(TestMessage(decoding: padded).edns).options
        #expect(padded.count == 468 && options.map(\.code) == [10, 12])
        #expect(options.first?.data == cookie.data)
    }

    @Test func `a response without EDNS, one too long and what is none stay as they are`() throws {
        for bytes in [
            try response(10, edns: nil), try response(65_470, edns: EDNS()), [], [0, 1, 2],
            [UInt8](repeating: 0xff, count: 40),
        ] {
            var padded = bytes
            ReplyBuffer.pad(&padded)
            #expect(padded == bytes)
        }
    }
}
