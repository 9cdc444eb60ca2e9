import DNSResolver
import DNSWire
import Platform
import TestSupport
import TestUpstreams

@testable import Upstreams

/// Servers whose replies a test gives, on its clock.
@Loop
final class FakeRedis {
    /// One connection.
    @Loop
    final class Channel: RedisChannel {
        let address: SocketAddress?
        let events: RedisChannelEvents
        private(set) var sent: [String] = []
        private var awaited: [RedisChannel.Completion] = []
        private(set) var isClosed = false

        /// Called with each command that awaits a reply.
        private let onSend: (RedisCommand, @escaping RedisChannel.Completion) -> Void

        init(
            _ address: SocketAddress?, _ events: RedisChannelEvents,
            onSend: @escaping (RedisCommand, @escaping RedisChannel.Completion) -> Void = { _, _ in }
        ) {
            (self.address, self.events, self.onSend) = (address, events, onSend)
        }

        func send(_ command: RedisCommand, until deadline: Instant?, _ done: @escaping Completion) -> Bool {
            sent.append(command.name)
            awaited.append(done)
            onSend(command, done)
            return true
        }

        func sendWithoutReply(_ command: RedisCommand) -> Bool { true }

        func close() { isClosed = true }

        /// Replies to the oldest command.
        func reply(_ reply: RedisReply) { if !awaited.isEmpty { awaited.removeFirst()(reply) } }
    }

    nonisolated let clock = ManualClock()
    nonisolated let bootstrap: FakeUpstream
    private(set) var channels: [Channel] = []
    private(set) var events: [String?] = []

    nonisolated init() { bootstrap = FakeUpstream("localdns", .addresses("192.0.2.1"), clock: clock) }

    var last: Channel? { channels.last }

    func link(_ host: String = "192.0.2.1") -> RedisLink {
        RedisLink(
            .host(host, port: 6_379, usesTLS: false), timeout: .milliseconds(50), clock: clock,
            bootstrap: HostSources(localDNS: bootstrap),
            paths: NetworkPaths(),
            makeChannel: { [self] address, events in
                channels.append(Channel(address, events))
                return channels[channels.count - 1]
            }, report: { [self] in events.append($0) })
    }
}
