import Testing

@testable import DNSServer

struct StreamBufferTests {
    @Test func `the longest message is whole with its last byte only`() {
        var buffer = StreamBuffer()
        buffer.append([0xff, 0xff])
        buffer.append(ArraySlice(repeating: 7, count: 65_534))
        #expect(buffer.next() == .incomplete)
        buffer.append([7])
        #expect(buffer.hasMessage)
        #expect(buffer.next() == .message([UInt8](repeating: 7, count: 65_535)))
    }

    @Test func `storage of a long message is returned, though a byte of the next one is there`() {
        var buffer = StreamBuffer()
        buffer.append([0xff, 0xff])
        buffer.append(ArraySlice(repeating: 7, count: 65_536))
        _ = buffer.next()
        var capacity = 0
        buffer.fill { capacity = $0.capacity }
        #expect(capacity <= 1_024 && buffer.waiting == [7])
    }

    @Test func `written piece by piece, the bytes come in order`() {
        var buffer = StreamBuffer()
        var expected: [UInt8] = []
        var written: [UInt8] = []
        for length in 1...40 {
            let reply = [UInt8](repeating: UInt8(length), count: length)
            buffer.append(message: reply)
            expected += [0, UInt8(length)] + reply
            let piece = buffer.waiting.prefix(17)
            written += piece
            buffer.removeFirst(piece.count)
        }
        written += buffer.waiting
        buffer.removeFirst(buffer.count)
        #expect(written == expected)
        #expect(buffer.isEmpty)
    }

    @Test func `a reply longer than its length field can express is left out`() {
        var buffer = StreamBuffer()
        buffer.append(message: [UInt8](repeating: 0, count: 65_536))
        #expect(buffer.isEmpty)
    }
}
