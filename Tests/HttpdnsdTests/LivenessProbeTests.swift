import DNSServer
import DNSWire
import Foundation
import Glibc
import Platform
import Testing

@testable import httpdnsd

/// What is taken for a server of ours.
struct LivenessProbeTests {
    /// What answers each query with an error and its reason (RFC 8914).
    private final class Server: Sendable {
        private let descriptor: Int32
        let address: SocketAddress

        init(_ responseCode: UInt8, _ reason: ExtendedError) throws {
            let socket = try UDPSocket.bind(try #require(SocketAddress("127.0.0.1:0"))).receivers[0]
            let number = dup(socket.descriptor.number)
            (descriptor, address) = (number, socket.address)
            _ = fcntl(number, F_SETFL, 0)
            Thread.detachNewThread {
                var bytes = [UInt8](repeating: 0, count: 512)
                var (client, length) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
                while true {
                    let count = withUnsafeMutablePointer(to: &client) { client in
                        client.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                            recvfrom(number, &bytes, bytes.count, 0, $0, &length)
                        }
                    }
                    guard count >= 30 else { break }
                    // The header and the question of version.bind, then an OPT record.
                    var reply = Array(bytes[..<30])
                    (reply[2], reply[3], reply[11]) = (0x80, responseCode, 0)
                    // A query without EDNS is answered without (RFC 6891 section 7), and so without a reason.
                    if bytes[11] == 1 {
                        let text = Array(reason.text.utf8)
                        reply[11] = 1
                        reply += [0, 0, 41, 4, 0xd0, 0, 0, 0, 0, 0, UInt8(text.count + 6), 0, 15]
                        reply += [0, UInt8(text.count + 2)]
                        reply += [UInt8(reason.code.rawValue >> 8), UInt8(reason.code.rawValue & 255)] + text
                    }
                    _ = withUnsafePointer(to: client) { client in
                        client.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                            sendto(number, reply, reply.count, 0, $0, length)
                        }
                    }
                }
                close(number)
            }
        }

        deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }

    private func outcome(of server: Server) throws -> LivenessProbe {
        try withExtendedLifetime(server) { try LivenessProbe.outcome(of: server.address) }
    }

    @Test func `an overloaded server of ours is one that serves, and another one's failure is not`() throws {
        #expect(try outcome(of: Server(2, .overloaded)) == .serves)
        #expect(try outcome(of: Server(2, ExtendedError(.networkError, "no"))) == .foreign)
        #expect(try outcome(of: Server(5, ExtendedError(.prohibited, "no"))) == .refuses(.v4(0x7f00_0001)))
    }
}
