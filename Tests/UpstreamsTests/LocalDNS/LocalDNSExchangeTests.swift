import DNSWire
import Glibc
import Platform
import TestSupport
import Testing

@testable import Upstreams

@Suite(.onLoop) struct LocalDNSExchangeTests {
    typealias Outcome = LocalDNSQuery.Reply

    @Loop private func begin(
        at server: LocalDNSRawServer, over transport: Transport, onReply: @escaping @Loop (Outcome) -> Void
    ) throws -> LocalDNSExchange {
        let query = LocalDNSQuery(
            Question(name: try Name("a"), type: .a), by: LocalDNSWay(transport: transport, edns: false),
            dnssecOK: false, checkingDisabled: false)
        return try LocalDNSExchange(
            query, to: LocalDNSServer(.v4(0x7f00_0001), port: server.port), on: LoopRunner.shared.loop,
            onReply: onReply)
    }

    private func count(_ outcome: Outcome?) -> Int? {
        guard case .answer(let answer)? = outcome else { return nil }
        return answer.addresses.count
    }

    @Test(arguments: [Transport.udp, .tcp]) @Loop
    func `an exchange has ended once, with its socket closed, when the response is there`(transport: Transport)
        async throws
    {
        let server = try LocalDNSRawServer {
            Array(repeating: $0.good, count: 2)
        }
        var outcomes: [Outcome] = []
        let exchange = try begin(at: server, over: transport) { outcomes.append($0) }
        await awaited { !outcomes.isEmpty }
        #expect(server.queries.count == 1)
        #expect(outcomes.map(count) == [1])
        #expect(server.connectedDescriptors == 0)
        exchange.close()
    }

    @Test(arguments: [Transport.udp, .tcp]) @Loop
    func `an exchange that is closed reports nothing and is freed`(transport: Transport) async throws {
        let server = try LocalDNSRawServer()
        weak var seen: LocalDNSExchange?
        do {
            let exchange = try begin(at: server, over: transport) { _ in Issue.record("reported") }
            seen = exchange
            await server.received(1)
            exchange.close()
            exchange.close()
        }
        #expect(server.connectedDescriptors == 0)
        #expect(seen == nil)
    }

    @Test @Loop func `a stream's message is taken whole, however it is cut`() async throws {
        let server = try LocalDNSRawServer()
        var outcomes: [Outcome] = []
        let exchange = try begin(at: server, over: .tcp) { outcomes.append($0) }
        await server.received(1)
        let records = (0..<1_000).map { rawRecord(1, [192, 0, UInt8($0 >> 8), UInt8($0 & 0xff)]) }
        let message = server.queries[0].reply(records)
        let bytes = [UInt8(message.count >> 8), UInt8(message.count & 0xff)] + message
        for part in [bytes[..<1], bytes[1..<2], bytes[2..<9_000], bytes[9_000...]] {
            #expect(outcomes.isEmpty)
            server.sendRaw(Array(part), to: server.queries[0])
            await Loop.executor.idle()
        }
        await awaited { !outcomes.isEmpty }
        #expect(outcomes.map(count) == [1_000])
        exchange.close()
    }

    @Test @Loop func `a stream that ends within a message is a failure`() async throws {
        let server = try LocalDNSRawServer()
        var outcomes: [Outcome] = []
        let exchange = try begin(at: server, over: .tcp) { outcomes.append($0) }
        await server.received(1)
        server.sendRaw([0, 200, 7, 7], to: server.queries[0])
        server.hangUp(on: server.queries[0])
        await awaited { !outcomes.isEmpty }
        #expect(outcomes == [.lost(.network("the connection was closed"))])
        exchange.close()
    }

    /// As in a server that was started without standard input.
    @Test @Loop func `descriptor 0 is a socket like any other`() async throws {
        let server = try LocalDNSRawServer { [$0.good] }
        var outcomes: [Outcome] = []
        // Once, and only what no other test has opened.
        var status = stat()
        guard fstat(STDIN_FILENO, &status) != 0 || status.st_mode & S_IFMT != S_IFSOCK else { return }
        close(STDIN_FILENO)
        let exchange = try begin(at: server, over: .udp) { outcomes.append($0) }
        await awaited { !outcomes.isEmpty }
        #expect(outcomes.map(count) == [1])
        #expect(server.connectedDescriptors == 0)
        exchange.close()
        if fcntl(STDIN_FILENO, F_GETFD) < 0 { _ = open("/dev/null", O_RDONLY) }
    }
}
