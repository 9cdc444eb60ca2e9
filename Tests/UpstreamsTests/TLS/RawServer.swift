import Foundation
import Glibc
import Synchronization
import TestServers

/// A server on 127.0.0.1 that answers the first bytes of each client with bytes of the test's, one connection after the
/// other.
final class RawServer: Sendable {
    let port: UInt16
    private let listener: TestSocket
    private let progress = Atomic(0)

    /// The bytes that were sent to all clients.
    var sent: Int { progress.load(ordering: .relaxed) }

    /// - Parameters:
    ///   - reply: sent when a client has sent something; the connection is then closed.
    ///   - count: how often.
    init(_ reply: [UInt8], count: Int = 1) throws {
        let listener = try TestSocket.listener(TestAddress("127.0.0.1"))
        (self.listener, port) = (listener, listener.localAddress.port)
        Thread.detachNewThread { [self, listener] in
            while let (client, _) = listener.accept() {
                var first = [UInt8](repeating: 0, count: 4_096)
                if recv(client.descriptor, &first, first.count, 0) > 0 { send(reply, count, to: client) }
            }
        }
    }

    private func send(_ reply: [UInt8], _ count: Int, to client: TestSocket) {
        for _ in 0..<count {
            let length = Glibc.send(client.descriptor, reply, reply.count, Int32(MSG_NOSIGNAL))
            guard length > 0 else { return }
            progress.add(length, ordering: .relaxed)
        }
    }

    /// Ends it.
    func stop() { listener.shutdown() }
}
