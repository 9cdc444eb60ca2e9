import Glibc
import Platform
import Scheduling
import TestSupport
import Testing

@testable import DNSServer

/// How many handshakes take a step in a turn of the loop.
@Suite struct HandshakeQueueTests {
    /// Handshakes of which each step is the last one: there is no certificate.
    @Loop
    private final class Fixture {
        let terms = TLSTerms()
        let queue: HandshakeQueue
        let handshakes: [TLSHandshake]
        /// How many have taken their step by the end of each turn.
        private(set) var steps: [Int] = []

        init(_ count: Int, on loop: EventLoop, in owner: Connections, at site: HTTPSite) throws {
            let queue = HandshakeQueue(on: loop, capacity: count)
            let address = try #require(SocketAddress("127.0.0.1:1"))
            handshakes = (0..<count).map { [terms] _ in
                let descriptor = Descriptor(owning: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
                let client = ConnectionClient(address: address, transport: .tls)
                return TLSHandshake(descriptor, client: client, terms: terms, queue: queue, in: owner) {
                    HTTPServerConnection($0, client: $1, alpn: nil, at: site, in: owner)
                }
            }
            self.queue = queue
        }

        func stepAll() -> Bool { handshakes.allSatisfy { queue.step($0) } }

        func record(each loop: EventLoop) {
            loop.atTurnEnd {
                self.steps.append(self.terms.counts.failed)
                if self.queue.count > 0 { self.record(each: loop) }
            }
        }
    }

    @Test func `two handshakes take a step in each turn of the loop`() async throws {
        try await EncryptedServer.run { server in
            try await Self.check(in: server.test.server.encrypted, at: server.test.server.site)
        }
    }

    @Loop
    private static func check(in owner: Connections, at site: HTTPSite) async throws {
        let loop = TestServer.loop
        let fixture = try Fixture(5, on: loop, in: owner, at: site)
        #expect(fixture.stepAll())
        #expect(fixture.terms.counts.failed == 2)
        fixture.record(each: loop)
        await awaited { fixture.steps.last == 5 }
        #expect(fixture.steps == [2, 4, 5])
    }

    @Test func `two take a step, too, before the loop's first turn`() async throws {
        try await EncryptedServer.run { server in
            try await Self.checkFirst(in: server.test.server.encrypted, at: server.test.server.site)
        }
    }

    @Loop
    private static func checkFirst(in owner: Connections, at site: HTTPSite) throws {
        let fixture = try Fixture(3, on: EventLoop(), in: owner, at: site)
        #expect(fixture.stepAll())
        #expect(fixture.terms.counts.failed == 2)
    }
}
