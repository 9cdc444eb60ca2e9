import DNSWire
import Foundation
import Glibc
import HTTPDNS
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import Upstreams

@Suite(.onLoop) struct LateReplyTests {
    @Test @Loop func `what has come before a request by HTTP/1.1 is sent is no reply to it`() async throws {
        let server = try NumberingServer()
        defer { server.stop() }
        let transfers = await HTTPFixture.plain(server.address)
        #expect(try await transfers.get("one.example.com").get().body == [UInt8(ascii: "1")])
        // In one turn of the loop, which has no time to read it.
        try server.sendLate()
        #expect(try await transfers.get("two.example.com").get().body == [UInt8(ascii: "2")])
    }
}

/// A server that answers the first request of each connection, with the connection's number.
private final class NumberingServer: Sendable {
    let address: TestAddress
    private let listener: TestSocket
    private let clients = Mutex<[TestSocket]>([])

    init() throws {
        listener = try TestSocket.listener(TestAddress("127.0.0.1"))
        address = listener.localAddress
        Thread.detachNewThread { [self] in
            while let (client, _) = listener.accept() {
                _ = client.receive(.patience)
                let number = clients.withLock {
                    $0.append(client)
                    return $0.count
                }
                try? client.write(Self.reply("\(number)"))
            }
        }
    }

    private static func reply(_ body: String) -> [UInt8] {
        Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
    }

    /// Sends a second reply on the first connection. Returns once the other end has it.
    func sendLate() throws {
        let client = clients.withLock { $0[0] }
        try client.write(Self.reply("late"))
        var left: Int32 = 0
        repeat { _ = ioctl(client.descriptor, UInt(TIOCOUTQ), &left) } while left > 0
    }

    func stop() { listener.shutdown() }
}
