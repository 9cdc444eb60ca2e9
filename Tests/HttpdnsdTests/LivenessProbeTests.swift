import DNSServer
import DNSWire
import Foundation
import Platform
import TestServers
import TestSupport
import Testing

@testable import httpdnsd

/// What is taken for a server of ours.
struct LivenessProbeTests {
    /// What a server is taken for that answers each query with an error and its reason (RFC 8914).
    private func outcome(_ responseCode: UInt16, _ reason: ExtendedError) throws -> LivenessProbe {
        let socket = try TestSocket.udp(TestAddress("127.0.0.1"))
        let address = socket.localAddress
        Thread.detachNewThread {
            while let (bytes, client) = socket.receive(nil), let query = try? TestMessage(decoding: bytes) {
                var reply = TestMessage(id: query.id, flags: 0x8000 | responseCode)
                reply.questions = query.questions
                // A query without EDNS is answered without (RFC 6891 section 7), and so without a reason.
                if query.edns != nil {
                    let data = [UInt8(reason.code.rawValue >> 8), UInt8(reason.code.rawValue & 255)] + reason.text.utf8
                    reply.edns = TestEDNS(options: [.init(15, data)])
                }
                try? socket.send(reply.encoded, to: client)
            }
        }
        // An empty datagram ends the thread.
        defer { try? socket.send([], to: address) }
        return try LivenessProbe.outcome(of: #require(SocketAddress(address.description)))
    }

    @Test func `an overloaded server of ours is one that serves, and another one's failure is not`() throws {
        #expect(try outcome(2, .overloaded) == .serves)
        #expect(try outcome(2, ExtendedError(.networkError, "no")) == .foreign)
        #expect(try outcome(5, ExtendedError(.prohibited, "no")) == .refuses(.v4(0x7f00_0001)))
    }
}
