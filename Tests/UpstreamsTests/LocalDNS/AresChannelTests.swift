import DNSWire
import Scheduling
import TestSupport
import Testing

@testable import Upstreams

@Suite(.onLoop)
struct AresChannelTests {
    /// Header and question `a.` A.
    private static let query: [UInt8] = [7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 97, 0, 0, 1, 0, 1]

    @Test @Loop func `a channel is freed, and its socket closed, once its exchange has ended`() async throws {
        let server = try LocalDNSRawServer { [$0.reply()] }
        weak var seen: AresChannel?
        let reply = try await withCheckedThrowingContinuation { continuation in
            do {
                let channel = try AresChannel(
                    server: LocalDNSServer(.v4(0x7f00_0001), port: server.port), transport: .udp,
                    loop: LoopRunner.shared.loop,
                    accepts: { _ in true }
                ) { outcome in
                    #expect(server.connectedDescriptors == 0)
                    continuation.resume(returning: outcome)
                }
                channel.send(Self.query)
                seen = channel
            } catch {
                continuation.resume(throwing: error)
            }
        }
        guard case .success(let bytes) = reply else {
            Issue.record("no reply")
            return
        }
        #expect(bytes.prefix(2) == [7, 7])
        await Loop.executor.idle()
        #expect(seen == nil)
    }

    @Test @Loop func `a channel that is closed reports nothing and is freed`() async throws {
        let server = try LocalDNSRawServer()
        weak var seen: AresChannel?
        do {
            let channel = try AresChannel(
                server: LocalDNSServer(.v4(0x7f00_0001), port: server.port), transport: .udp,
                loop: LoopRunner.shared.loop,
                accepts: { _ in true }
            ) { _ in Issue.record("reported") }
            channel.send(Self.query)
            await server.received(1)
            seen = channel
            channel.close()
            channel.close()
        }
        #expect(server.connectedDescriptors == 0)
        #expect(seen == nil)
    }

    @Test @Loop func `a query that c-ares refuses ends the exchange before send returns`() throws {
        var outcomes: [Result<[UInt8], UpstreamFailure>] = []
        let channel = try AresChannel(
            server: LocalDNSServer(.v4(0x7f00_0001)), transport: .udp, loop: LoopRunner.shared.loop,
            accepts: { _ in true }
        ) { outcomes.append($0) }
        channel.send([1, 2, 3])
        #expect(outcomes.count == 1)
    }
}
