import CSystem.Linux
import Platform
import Scheduling
import TestSupport
import Testing

@testable import DNSServer

@Suite(.onLoop) struct ReplyOutboxTests {
    @Test @Loop func `responses that were sent leave their room to the next ones`() throws {
        let socket = try UDPSocket.bind(try #require(SocketAddress("127.0.0.1:0"))).sender
        let (outbox, path) = (ReplyOutbox(), DatagramPath(socket: socket, origin: clinux_origin()))
        func add() -> ArraySlice<UInt8> {
            outbox.add(by: path, limit: 100) { output in for _ in 0..<60 { output.append(7) } }
        }
        for count in 1...3 {
            let places = [add(), add()].map(\.indices)
            #expect(places == [0..<60, 60..<120])
            outbox.flush()
            #expect(outbox.sends == count)
        }
    }
}
