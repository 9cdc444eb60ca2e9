import Testing

@testable import DNSServer

@Suite struct FrameBufferTests {
    @Test func `the longest message is whole with its last byte only`() {
        var buffer = FrameBuffer()
        buffer.append([0xff, 0xff])
        buffer.append(ArraySlice(repeating: 7, count: 65_534))
        #expect(buffer.next() == .incomplete)
        buffer.append([7])
        #expect(buffer.hasMessage)
        #expect(buffer.next() == .message(2..<65_537))
    }

    @Test func `storage of a long message is returned, though a byte of the next one is there`() {
        var buffer = FrameBuffer()
        buffer.append([0xff, 0xff])
        buffer.append(ArraySlice(repeating: 7, count: 65_536))
        _ = buffer.next()
        buffer.trim()
        #expect(buffer.bytes.capacity <= 1_024 && buffer.count == 1)
        #expect(buffer.rest == [7])
    }
}
