import DNSWire
import Scheduling
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
