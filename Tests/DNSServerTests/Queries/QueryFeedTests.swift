import DNSCache
import DNSResolver
import DNSWire
import Platform
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import DNSServer

/// The records that the server reports of answered queries.
struct QueryFeedTests {
    /// Records what is reported.
    private final class Recorder: Sendable {
        private let answered = Mutex<[AnsweredQuery]>([])
        private let missed = Mutex(0)

        var queries: [AnsweredQuery] { answered.withLock { $0 } }
        var left: Int { missed.withLock { $0 } }
        /// In a short form, such as `udp www.example A NOERROR cache`.
        var lines: [String] {
            queries.map { query in
                let question = query.question.map(\.description) ?? "-"
                return "\(query.transport.rawValue) \(question) \(query.responseCode) \(query.kind.word)"
            }
        }

        @Loop
        func listen(to test: TestServer) {
            test.server.feed.receive { query in
                self.answered.withLock { $0.append(query) }
            } missed: { count in
                self.missed.withLock { $0 += count }
            }
            test.server.feed.turn(on: true)
        }

        /// Returns once so many queries have been reported or left out: a UDP thread does so after its responses were
        /// sent.
        @Loop
        func hears(_ count: Int) async {
            await awaited { queries.count + left >= count }
        }
    }

    @Test func `hits, misses and what is refused are reported, over UDP and TCP`() async throws {
        try await TestServer.run(allow: ["127.0.0.1/32"]) { test in
            let recorder = Recorder()
            await recorder.listen(to: test)
            try test.store("hit.example")
            let client = try TestDNSClient(test.address)
            _ = try client.ask("Hit.example")
            _ = try client.ask("miss.example")
            var other = TestMessage.query("op.example")
            other.flags |= 0x1000
            _ = try client.ask(other)
            _ = try TestDNSClient(test.address, from: "127.0.0.2").ask("hit.example")
            let tcp = try TestTCPClient(test.address)
            _ = try tcp.ask(.query("hit.example"))
            _ = try tcp.ask(.query("miss.example"))
            await recorder.hears(6)
            #expect(
                Set(recorder.lines) == [
                    "UDP Hit.example A NOERROR cache", "UDP miss.example A NOERROR rule",
                    "UDP op.example A NOTIMP rule", "UDP hit.example A REFUSED rule",
                    "TCP hit.example A NOERROR cache", "TCP miss.example A NOERROR rule",
                ])
            #expect(recorder.queries.filter { $0.client.description == "127.0.0.2" }.count == 1)
            #expect(recorder.queries.allSatisfy { $0.took >= .zero && $0.took < .patience })
        }
    }

    @Test func `a query without a question is reported without one, over UDP and TCP`() async throws {
        try await TestServer.run { test in
            let recorder = Recorder()
            await recorder.listen(to: test)
            let empty = TestMessage(id: 1, flags: 0x0100)
            let (udp, tcp) = (try TestDNSClient(test.address), try TestTCPClient(test.address))
            #expect(try udp.ask(empty).rcode == 1)
            #expect(try tcp.ask(empty).rcode == 1)
            await recorder.hears(2)
            #expect(Set(recorder.lines) == ["UDP - FORMERR rule", "TCP - FORMERR rule"])
        }
    }

    @Test func `off, nothing is reported`() async throws {
        try await TestServer.run { test in
            let recorder = Recorder()
            await recorder.listen(to: test)
            test.server.feed.turn(on: false)
            try test.store("hit.example")
            let client = try TestDNSClient(test.address)
            for name in ["hit.example", "miss.example"] { _ = try client.ask(name) }
            await test.turn()
            #expect(recorder.queries.isEmpty)
        }
    }

    @Test func `queries that come while the loop is busy are left out, counted, and answered`() async throws {
        try await TestServer.run { test in
            let recorder = Recorder()
            await recorder.listen(to: test)
            try test.store("hit.example")
            let client = try TestDNSClient(test.address)
            let count = 1_500
            try await holdLoop {
                for number in 0..<count {
                    try client.send(.query("hit.example", id: UInt16(number)))
                    #expect(try client.receive().message.rcode == 0)
                }
            }
            await recorder.hears(count)
            #expect(recorder.queries.count + recorder.left == count)
            #expect(recorder.left > 0 && recorder.queries.count >= 1_024)
        }
    }

    /// Runs `body`, which blocks, while the loop does nothing.
    @Loop
    private func holdLoop(_ body: @Sendable () throws -> Void) async throws { try body() }
}
