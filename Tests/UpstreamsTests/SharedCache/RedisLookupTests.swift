import DNSCache
import DNSResolver
import DNSWire
import Glibc
import HTTPDNS
import Platform
import TestSupport
import TestUpstreams
import Testing
import Upstreams

/// A Redis on a Unix socket with one place, which is empty at first: the first that asks gets the lease.
@Loop
private final class SmallRedis {
    let directory: TemporaryDirectory
    /// All commands, as they were sent.
    private(set) var received = ""
    /// What was last written.
    private(set) var value: [UInt8]?
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
        let words = Self.words(of: bytes[..<count])
        var reply = Array((text.contains("SET") ? "$-1\r\n" : ":1\r\n").utf8)
        if words.first == Array("SET".utf8), words[2] != Array("leased".utf8) {
            (value, reply) = (words[2], Array("+OK\r\n".utf8))
        } else if let value {
            reply = Array("$\(value.count)\r\n".utf8) + value + Array("\r\n".utf8)
        }
        _ = send(client, reply, reply.count, Int32(MSG_NOSIGNAL))
    }

    /// The words of the first command.
    private static func words(of bytes: ArraySlice<UInt8>) -> [[UInt8]] {
        var rest = bytes
        func number() -> Int {
            let line = rest.dropFirst().prefix { $0 != 13 }
            rest = rest.dropFirst(line.count + 3)
            return Int(String(decoding: line, as: UTF8.self)) ?? 0
        }
        return (0..<number()).map { _ in
            let length = number()
            defer { rest = rest.dropFirst(length + 2) }
            return Array(rest.prefix(length))
        }
    }
}

/// What a look-up in Redis leaves there for the other servers.
@Suite(.onLoop) struct RedisLookupTests {
    /// Whether a look-up has ended.
    @Loop
    private final class End {
        var answers: [SharedAnswer]?
    }

    @Test @Loop func `a question that is given up gives its lease back, and says so`() async throws {
        let redis = try SmallRedis()
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

    @Test @Loop func `a look-up that finds one family of two is a hit`() async throws {
        let redis = try SmallRedis()
        let key = FlightKey(
            name: try Name("www.example.com"), type: .a, route: .protect(explicit: true), dnssecOK: false,
            checkingDisabled: false, scope: nil)
        let stores = try [SharedStore.test(at: redis.path), SharedStore.test(at: redis.path)]
        for (number, store) in stores.enumerated() {
            let (cache, end) = (SharedCache(store, policy: "any", freshness: FreshnessPolicy()), End())
            let lookup = try #require(cache.begin(key, [.a, .aaaa]) { end.answers = $0 })
            await awaited { end.answers != nil }
            #expect(end.answers?.map(\.type) == (number == 0 ? [] : [.a]))
            let answer = Answer(name: key.name, addresses: [.v4(0xc000_0201)], ttl: 300)
            if number == 0 { lookup.share(answer, .a, of: 0, from: "192.0.2.53:443") }
            lookup.cancel()
            await awaited { redis.value != nil }
        }
        #expect(stores.map(\.counters.hits) == [0, 1] && stores.map(\.counters.misses) == [1, 0])
        for store in stores { store.close() }
    }
}

extension SharedStore {
    /// A store of the test's own, in the Redis at a path.
    @Loop
    static func test(at path: String) throws -> SharedStore {
        let silent = FakeUpstream("localdns", .silence, clock: ManualClock())
        var redis = RedisSettings(place: .path(path))
        redis.timeout = .patience
        let settings = SharedStoreSettings(
            redis: redis,
            key: Secret(String(repeating: "5a", count: 32)), prefix: "test:", takesLease: true, countsCalls: true)
        let store = SharedStore(
            settings, loop: LoopRunner.shared.loop, bootstrap: HostSources(localDNS: silent), paths: NetworkPaths(),
            hasTime: { true }, timeOfDay: { 1_700_000_000 }, report: { _ in })
        return try #require(store)
    }
}
