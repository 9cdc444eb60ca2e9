import DNSCache
import DNSResolver
import DNSWire
import Glibc
import HTTPDNS
import Platform
import Scheduling
import TestSupport
import TestUpstreams
import Testing
import Upstreams

/// A Redis on a Unix socket that has no value: the first that asks gets the lease.
@Loop
private final class EmptyRedis {
    let directory: TemporaryDirectory
    /// All commands, as they were sent.
    private(set) var received = ""
    private let descriptor: Int32
    private var clients: [Int32] = []
    private var watches: [Watch] = []

    var path: String { directory.path + "/redis.sock" }

    init() throws {
        directory = try TemporaryDirectory()
        guard let listening = try UnixListener(directory.path + "/redis.sock").takeDescriptor() else {
            throw TestFailure("no socket")
        }
        descriptor = listening.release()
        watches.append(try LoopRunner.shared.loop.watch(descriptor, for: .readable) { [unowned self] _ in accept() })
    }

    isolated deinit {
        for watch in watches { watch.cancel() }
        for number in clients + [descriptor] { close(number) }
    }

    private func accept() {
        let client = Glibc.accept(descriptor, nil, nil)
        guard client >= 0 else { return }
        clients.append(client)
        if let watch = try? LoopRunner.shared.loop.watch(client, for: .readable, { [unowned self] _ in reply(client) })
        {
            watches.append(watch)
        }
    }

    private func reply(_ client: Int32) {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = recv(client, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        guard count > 0 else { return }
        let text = String(decoding: bytes[..<count], as: UTF8.self)
        received += text
        let reply = text.contains("SET") ? "$-1\r\n" : ":1\r\n"
        _ = send(client, reply, reply.utf8.count, Int32(MSG_NOSIGNAL))
    }
}

/// What a look-up in Redis leaves there for the other servers.
@Suite(.onLoop)
struct RedisLookupTests {
    /// Whether a look-up has ended.
    @Loop
    private final class End {
        var answers: [SharedAnswer]?
    }

    @Test @Loop func `a question that is given up gives its lease back, and says so`() async throws {
        let redis = try EmptyRedis()
        let store = try SharedStore.test(at: redis.path)
        let cache = SharedCache(store, policy: "any", freshness: FreshnessPolicy())
        let key = FlightKey(
            name: try Name("www.example.com"), type: .a, route: .protect(explicit: true), dnssecOK: false,
            checkingDisabled: false, scope: nil)
        let end = End()
        let lookup = try #require(cache.begin(key, [.a]) { end.answers = $0 })
        await awaited { end.answers != nil }
        #expect(end.answers?.isEmpty == true && !redis.received.contains("DEL"))
        lookup.cancel()
        await awaited { redis.received.contains("DEL") && redis.received.contains("PUBLISH") }
        store.close()
    }
}

extension SharedStore {
    /// A store of the test's own, in the Redis at a path.
    @Loop
    static func test(at path: String) throws -> SharedStore {
        let silent = FakeUpstream("localdns", .silence, clock: ManualClock())
        let settings = SharedStoreSettings(
            redis: RedisSettings(place: .path(path), timeout: .patience),
            key: Secret(String(repeating: "5a", count: 32)), prefix: "test:", takesLease: true, countsCalls: true)
        let store = SharedStore(
            settings, loop: LoopRunner.shared.loop, bootstrap: HostSources(localDNS: silent), paths: NetworkPaths(),
            hasTime: { true }, timeOfDay: { 1_700_000_000 }, report: { _ in })
        return try #require(store)
    }
}
