import Foundation
import Glibc
import Synchronization
import TestSupport

/// A server on 127.0.0.1 that answers the first bytes of each client with bytes of the test's, one connection after the
/// other.
final class RawServer: Sendable {
    let port: UInt16
    private let listener: Int32
    private let progress = Atomic(0)

    /// The bytes that were sent to all clients.
    var sent: Int { progress.load(ordering: .relaxed) }

    /// - Parameters:
    ///   - reply: sent when a client has sent something; the connection is then closed.
    ///   - count: how often.
    init(_ reply: [UInt8], count: Int = 1) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        (self.listener, port) = (listener, UInt16(bigEndian: place.sin_port))
        guard isBound, listen(listener, 8) == 0 else { throw TestFailure("no listener") }
        Thread.detachNewThread { [self, listener] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                var first = [UInt8](repeating: 0, count: 4_096)
                if recv(client, &first, first.count, 0) > 0 { send(reply, count, to: client) }
                close(client)
            }
            close(listener)
        }
    }

    private func send(_ reply: [UInt8], _ count: Int, to client: Int32) {
        for _ in 0..<count {
            let length = Glibc.send(client, reply, reply.count, Int32(MSG_NOSIGNAL))
            guard length > 0 else { return }
            progress.add(length, ordering: .relaxed)
        }
    }

    /// Ends it.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }
}
