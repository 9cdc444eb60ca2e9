import Testing

@testable import DNSServer

@Suite struct OutboundBufferTests {
    @Test func `written piece by piece, the bytes come in order`() {
        var buffer = OutboundBuffer()
        var expected: [UInt8] = []
        var written: [UInt8] = []
        for length in 1...40 {
            let reply = [UInt8](repeating: UInt8(length), count: length)
            buffer.append(reply)
            expected += [0, UInt8(length)] + reply
            let piece = buffer.unwritten.prefix(17)
            written += piece
            buffer.removeFirst(piece.count)
        }
        written += buffer.unwritten
        buffer.removeFirst(buffer.count)
        #expect(written == expected)
        #expect(buffer.isEmpty)
    }

    @Test func `a reply longer than its length field can express is left out`() {
        var buffer = OutboundBuffer()
        buffer.append([UInt8](repeating: 0, count: 65_536))
        #expect(buffer.isEmpty)
    }
}
