import DNSWire
import Glibc
import Platform
import Scheduling
import TestSupport
import Testing

@testable import Upstreams

@Suite(.onLoop)
struct LocalDNSExchangeTests {
    /// Header and question `a.` A.
    private static let query: [UInt8] = [7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 97, 0, 0, 1, 0, 1]

    /// An exchange that accepts any datagram.
    @Loop
    private func begin(
        at server: LocalDNSRawServer, over transport: Transport,
        onEnd: @escaping @Loop (Result<[UInt8], UpstreamFailure>) -> Void
    ) throws -> LocalDNSExchange {
        try LocalDNSExchange(
            Self.query, to: LocalDNSServer(.v4(0x7f00_0001), port: server.port), over: transport,
            on: LoopRunner.shared.loop, accepts: { _ in true }, onEnd: onEnd)
    }

    @Test(arguments: [Transport.udp, .tcp]) @Loop
    func `an exchange has ended once, with its socket closed, when the response is there`(transport: Transport)
        async throws
    {
        let server = try LocalDNSRawServer { [$0.reply(), $0.reply()] }
        var outcomes: [Result<[UInt8], UpstreamFailure>] = []
        let exchange = try begin(at: server, over: transport) { outcomes.append($0) }
        await awaited { !outcomes.isEmpty }
        #expect(server.queries.map(\.bytes) == [Self.query])
        #expect(try outcomes.map { try $0.get().prefix(2) } == [[7, 7]])
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
        var outcomes: [Result<[UInt8], UpstreamFailure>] = []
        let exchange = try begin(at: server, over: .tcp) { outcomes.append($0) }
        await server.received(1)
        let message = [UInt8](repeating: 9, count: 20_000)
        let bytes = [UInt8(message.count >> 8), UInt8(message.count & 0xff)] + message
        for part in [bytes[..<1], bytes[1..<2], bytes[2..<9_000], bytes[9_000...]] {
            #expect(outcomes.isEmpty)
            server.sendRaw(Array(part), to: server.queries[0])
            await Loop.executor.idle()
        }
        await awaited { !outcomes.isEmpty }
        #expect(try outcomes[0].get() == message)
        exchange.close()
    }

    @Test @Loop func `a stream that ends within a message is a failure`() async throws {
        let server = try LocalDNSRawServer()
        var outcomes: [Result<[UInt8], UpstreamFailure>] = []
        let exchange = try begin(at: server, over: .tcp) { outcomes.append($0) }
        await server.received(1)
        server.sendRaw([0, 200, 7, 7], to: server.queries[0])
        server.hangUp(on: server.queries[0])
        await awaited { !outcomes.isEmpty }
        #expect(outcomes == [.failure(.network("the connection was closed"))])
        exchange.close()
    }
}
