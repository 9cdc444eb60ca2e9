import Testing

@testable import DNSServer

@Suite struct FrameBufferTests {
    /// Two messages of 12 and 300 bytes, framed.
    private static let messages: [[UInt8]] = [(0..<12).map { UInt8($0) }, (0..<300).map { UInt8($0 % 251) }]
    private static let stream: [UInt8] = messages.flatMap { [UInt8($0.count >> 8), UInt8($0.count & 255)] + $0 }

    /// Takes all complete messages.
    private func take(_ buffer: inout FrameBuffer) -> [[UInt8]] {
        var taken: [[UInt8]] = []
        while case .message(let range) = buffer.next() { taken.append(Array(buffer.bytes[range])) }
        buffer.trim()
        return taken
    }

    @Test(arguments: 0...stream.count)
    func `a stream split anywhere gives the same messages`(cut: Int) {
        var buffer = FrameBuffer()
        var taken: [[UInt8]] = []
        for part in [Self.stream[..<cut], Self.stream[cut...]] {
            buffer.append(part)
            taken += take(&buffer)
        }
        #expect(taken == Self.messages)
        #expect(buffer.count == 0)
    }

    @Test(arguments: [0, 1, 11])
    func `a length shorter than a header is malformed`(length: UInt8) {
        var buffer = FrameBuffer()
        buffer.append([0, length])
        #expect(buffer.hasMessage)
        #expect(buffer.next() == .malformed)
    }

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
