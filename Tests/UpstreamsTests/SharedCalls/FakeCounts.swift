import DNSResolver
import DNSWire
import HTTPDNS
import Platform
import TestSupport
import TestUpstreams

@testable import Upstreams

/// A Redis that carries out the script of `FleetCalls` when a test lets it, and servers that count their calls there.
@Loop
final class FakeCounts {
    @Loop
    private final class Reports {
        var all: [ResolverEvent] = []
    }

    /// One server of the fleet.
    @Loop
    final class Server {
        let account: ProviderAccount
        let fleet: FleetCalls
        private let reports = Reports()
        var events: [ResolverEvent] { reports.all }

        init(_ counts: FakeCounts, daily: Int, monthly: Int, secret: UInt8) throws {
            let day = counts.day
            let reports = reports
            let report: @Loop (ResolverEvent) -> Void = { reports.all.append($0) }
            account = ProviderAccount(
                provider: "vendor", clock: ProviderClock(isAuthenticated: true) { day.seconds },
                calls: CallQuota(dailyLimit: daily, monthlyLimit: monthly), report: report)
            let clock = counts.clock
            let settings = SharedStoreSettings(
                redis: RedisSettings(place: .host("192.0.2.1", port: 6_379, usesTLS: false)),
                key: Secret(String(repeating: "0\(secret)", count: 32)), prefix: "", takesLease: false)
            let store = SharedStore(
                settings, clock: clock,
                bootstrap: HostSources(localDNS: FakeUpstream("localdns", .addresses("192.0.2.1"), clock: clock)),
                paths: NetworkPaths(),
                makeChannel: { [unowned counts] address, events in
                    FakeRedis.Channel(address, events) { counts.commands.append(($0, $1)) }
                }, hasTime: { [unowned counts] in counts.hasTime }, timeOfDay: { day.seconds },
                report: { [unowned counts] event in if case .damaged = event { counts.damages += 1 } })
            account.countCalls(in: store, as: "aliyun vendor 1", from: nil)
            guard let counting = account.fleet else { throw TestFailure("nothing counts") }
            fleet = counting
        }

        /// Sends so many calls, as far as that is allowed, without waiting for Redis.
        func send(_ count: Int) -> Int { (0..<count).count { _ in account.take() } }
    }

    nonisolated let clock = ManualClock()
    nonisolated let day = TestDay()
    var hasTime = true
    /// By names.
    var values: [String: [UInt8]] = [:]
    var damages = 0
    private(set) var scripts = 0
    /// Commands that it has not carried out yet.
    var waiting: Int { commands.count }
    fileprivate var commands: [(command: RedisCommand, done: RedisChannel.Completion)] = []

    nonisolated init() { day.seconds = 1_800_014_400 }

    func server(daily: Int = 0, monthly: Int = 0, secret: UInt8 = 1) throws -> Server {
        try Server(self, daily: daily, monthly: monthly, secret: secret)
    }

    /// Carries out what was sent, and what is sent upon that.
    func serve() {
        while !commands.isEmpty {
            let (command, done) = commands.removeFirst()
            guard command.name == "EVAL" else {
                done(.status("PONG"))
                continue
            }
            scripts += 1
            let name = String(decoding: command.arguments[2], as: UTF8.self)
            var value = values[name] ?? []
            if value.count > 200 { value = [] }
            guard value == command.arguments[3] else {
                done(.bytes(value))
                continue
            }
            values[name] = command.arguments[4]
            done(.integer(1))
        }
    }

    /// Replies to all that was sent so; nil: no reply comes in time.
    func reply(_ reply: RedisReply?) {
        let sent = commands
        commands = []
        for command in sent { command.done(reply) }
    }
}
