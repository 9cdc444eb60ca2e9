public import DNSWire
public import HTTPDNS
public import Platform

/// How a fleet's shared cache is used.
public struct SharedStoreSettings: Hashable, Sendable {
    public var redis: RedisSettings
    /// The fleet's secret, 32 bytes; compared only by what it opens.
    public var key: Secret
    /// What every name in Redis begins with.
    public var prefix: String
    /// Whether one server asks for all.
    public var takesLease: Bool
    /// Whether limits of calls hold for all servers together.
    public var countsCalls: Bool

    public init(redis: RedisSettings, key: Secret, prefix: String, takesLease: Bool, countsCalls: Bool = false) {
        self.redis = redis
        self.key = key
        self.prefix = prefix
        self.takesLease = takesLease
        self.countsCalls = countsCalls
    }

    /// 32 bytes of a text of 64 hexadecimal digits, or of base64; nil for any other text.
    public static func keyBytes(_ text: String) -> [UInt8]? {
        guard let bytes = TextDecoding.hexadecimal(text) ?? TextDecoding.base64(text), bytes.count == SharedKeys.length
        else { return nil }
        return bytes
    }
}

/// Something about the shared cache that operators should know.
public enum SharedStoreEvent: Hashable, Sendable {
    /// It is in backoff.
    case unavailable(place: String, reason: String)
    /// It answers again.
    case available(place: String)
    /// It takes no answers.
    case refused(place: String, reason: String)
    /// A value is no answer: it was sealed under another key, or changed.
    case damaged(place: String)
}

/// The answers in Redis, and what is needed to read and write them. Stays over a reload that changes none of its settings.
@Loop
public final class SharedStore {
    /// Counters since the start.
    public struct Counters: Sendable {
        /// Look-ups that found an answer, that found none, and that had no reply in time.
        public var hits = 0
        public var misses = 0
        public var timeouts = 0
        /// Questions that came while it was in backoff, or had no address.
        public var skipped = 0
        /// Look-ups that waited while another server asked, and those of them that then had its answer.
        public var waits = 0
        public var served = 0
        /// Answers written, and those that were refused.
        public var written = 0
        public var refused = 0
        /// Values that are no answers.
        public var damaged = 0
        /// When the last write was refused, and the last value was no answer; nil: never.
        public var lastRefused: Instant?
        public var lastDamaged: Instant?
    }

    public nonisolated let settings: SharedStoreSettings
    let keys: SharedKeys
    let clock: any LoopClock
    let redis: RedisLink
    let leases: LeaseWatch
    public internal(set) var counters = Counters()
    /// Whether this machine's clock can be right: else an answer's age is unknown, and nothing is shared.
    let hasTime: @Loop () -> Bool
    /// Seconds since 1970.
    let timeOfDay: @Sendable () -> Int64
    private let report: @Loop (SharedStoreEvent) -> Void

    /// Nil for a key that has not 32 bytes. The host of Redis is looked up by `bootstrap`, and nothing is shared while this
    /// machine's clock cannot be right.
    public convenience init?(
        _ settings: SharedStoreSettings, loop: EventLoop, bootstrap: HostSources, paths: NetworkPaths,
        hasTime: @escaping @Loop () -> Bool, timeOfDay: @escaping @Sendable () -> Int64,
        report: @escaping @Loop (SharedStoreEvent) -> Void
    ) {
        self.init(
            settings, clock: loop, bootstrap: bootstrap, paths: paths,
            makeChannel: { address, events throws(UpstreamFailure) in
                try RedisConnection(settings.redis, at: address, on: loop, paths: paths, events: events)
            }, hasTime: hasTime, timeOfDay: timeOfDay, report: report)
    }

    /// - Parameter makeChannel: as of `RedisLink`.
    init?(
        _ settings: SharedStoreSettings, clock: any LoopClock, bootstrap: HostSources, paths: NetworkPaths,
        makeChannel: @escaping RedisLink.Connect, hasTime: @escaping @Loop () -> Bool,
        timeOfDay: @escaping @Sendable () -> Int64, report: @escaping @Loop (SharedStoreEvent) -> Void
    ) {
        guard let secret = SharedStoreSettings.keyBytes(settings.key.value),
            let keys = SharedKeys(secret: secret, prefix: Array(settings.prefix.utf8))
        else { return nil }
        self.settings = settings
        self.keys = keys
        self.clock = clock
        self.hasTime = hasTime
        self.timeOfDay = timeOfDay
        self.report = report
        func link(_ report: @escaping @Loop (String?) -> Void) -> RedisLink {
            RedisLink(
                settings.redis.place, timeout: settings.redis.timeout, clock: clock, bootstrap: bootstrap, paths: paths,
                makeChannel: makeChannel, report: report)
        }
        let place = settings.redis.placeText
        redis = link { failure in
            report(failure.map { .unavailable(place: place, reason: $0) } ?? .available(place: place))
        }
        // What fails here is reported by the other one, or costs no more than a lease.
        leases = LeaseWatch(link { _ in })
    }

    public var name: String { settings.redis.placeText }

    /// Whether it is in backoff, when the next probe may begin, and why.
    public var backoff: (nextProbe: Instant, reason: String)? {
        redis.backoff.nextProbe.map { ($0, redis.lastFailure) }
    }

    /// Connects, so that the first question finds a connection.
    public func start() { redis.start() }

    public func networkChanged() {
        redis.networkChanged()
        leases.networkChanged()
    }

    /// Ends its connections: nothing uses it any more.
    public func close() {
        redis.shutDown()
        leases.close()
    }

    /// Writes a sealed answer for so many milliseconds, without waiting for the reply.
    func write(_ value: [UInt8], to name: [UInt8], for lifetime: UInt64) {
        let command = RedisCommand("SET", name, value, Array("PX".utf8), Array("\(lifetime)".utf8))
        // Unsent, it is a look-up that was skipped before.
        _ = redis.send(command) { [self] reply in
            guard let reply else { return }
            guard let refusal = reply.refusal else { return counters.written += 1 }
            refused(refusal)
        }
    }

    /// A command that writes was refused.
    func refused(_ reason: String) {
        counters.refused += 1
        counters.lastRefused = clock.now
        report(.refused(place: name, reason: reason))
        // Mostly after a failover: the name may lead to the new master already.
        if reason.hasPrefix("READONLY") { redis.doubtAddress() }
    }

    /// A value is no answer.
    func foundDamage() {
        counters.damaged += 1
        counters.lastDamaged = clock.now
        report(.damaged(place: name))
    }

    /// Removes the answers to a question.
    func remove(_ question: SharedQuestion) {
        guard let place = keys.place(of: question) else { return }
        _ = redis.send(RedisCommand("DEL", place.name)) { _ in }
    }
}

/// What Redis did when it was asked by the commands of a look-up, for people.
public enum SharedExamination: Equatable, Sendable {
    /// No connection, or no reply in time; why.
    case unreachable(String)
    /// It does not carry out a command that look-ups need.
    case refuses(command: String, reason: String)
    /// - latency: of one command on an open connection.
    case works(latency: Duration)
}

extension SharedStore {
    /// Milliseconds until Redis removes what is written here, should that not be removed here.
    private static let lifetime = Array("1000".utf8)

    /// Writes, reads and removes a value of its own, all by `deadline`, and ends the connections: for a program that does
    /// nothing else.
    public func examine(until deadline: Instant) async -> SharedExamination {
        // What waits then has no reply.
        let end = clock.schedule(at: deadline) { [self] in close() }
        let outcome = await outcome(until: deadline)
        end.cancel()
        close()
        return outcome
    }

    private func outcome(until deadline: Instant) async -> SharedExamination {
        guard let connection = await redis.reached(until: deadline) else { return unreachable }
        // The greeting goes first: a refused password is known by its reply, and a long handshake is no latency.
        switch await reply({ connection.send(RedisCommand("PING"), until: nil, $0) }) {
        case nil: return unreachable
        case .error(let reason)?: return .refuses(command: "PING", reason: reason)
        case .some: break
        }
        let name = Array("\(settings.prefix)doctor:\(UInt64.random(in: 0...(.max)))".utf8)
        var latency = Duration.zero
        for (text, command) in commands(name) {
            let began = clock.now
            switch await reply({ redis.send(command, $0) }) {
            case nil: return unreachable
            case .error(let reason)?: return .refuses(command: text, reason: reason)
            case .some: latency = clock.now - began
            }
        }
        return .works(latency: latency)
    }

    /// Those of a look-up that finds nothing and of an answer that is written, each with its words.
    private func commands(_ name: [UInt8]) -> [(String, RedisCommand)] {
        let (value, expiry) = (Array("doctor".utf8), [Array("PX".utf8), Self.lifetime])
        var commands = [
            ("SET", RedisCommand("SET", [name, value] + expiry)), ("GET", RedisCommand("GET", name)),
            ("DEL", RedisCommand("DEL", name)),
        ]
        if settings.takesLease {
            let lease = [name, value, Array("NX".utf8), Array("GET".utf8)] + expiry
            commands.insert(("SET NX GET", RedisCommand("SET", lease)), at: 0)
            commands.append(("PUBLISH", RedisCommand("PUBLISH", name + Array(":done".utf8), [])))
        }
        if settings.countsCalls {
            let script = "return redis.call('SET', KEYS[1], ARGV[1], 'PX', 1000)"
            let words = [script, "1"].map { Array($0.utf8) } + [name, value]
            commands.insert(("EVAL", RedisCommand("EVAL", words)), at: 0)
        }
        return commands
    }

    /// The reply to what `send` sends; nil: none.
    private func reply(_ send: (@escaping RedisChannel.Completion) -> Bool) async -> RedisReply? {
        await withCheckedContinuation { continuation in
            if !send({ continuation.resume(returning: $0) }) { continuation.resume(returning: nil) }
        }
    }

    private var unreachable: SharedExamination {
        .unreachable(redis.lastFailure.isEmpty ? "no reply" : redis.lastFailure)
    }
}
