package import DNSResolver
package import HTTPDNS
package import Platform
package import Scheduling

/// How a fleet's shared cache is used.
package struct SharedStoreSettings: Hashable, Sendable {
    package var redis: RedisSettings
    /// The fleet's secret, 32 bytes; compared only by what it opens.
    package var key: Secret
    /// What every name in Redis begins with.
    package var prefix: String
    /// Whether one server asks for all.
    package var takesTurns: Bool

    package init(redis: RedisSettings, key: Secret, prefix: String, takesTurns: Bool) {
        self.redis = redis
        self.key = key
        self.prefix = prefix
        self.takesTurns = takesTurns
    }

    /// 32 bytes of a text of 64 hexadecimal digits, or of base64; nil for any other text.
    package static func keyBytes(_ text: String) -> [UInt8]? {
        guard let bytes = TextDecoding.hexadecimal(text) ?? TextDecoding.base64(text), bytes.count == SharedKeys.length
        else { return nil }
        return bytes
    }
}

/// Something about the shared cache that operators should know.
package enum SharedStoreEvent: Hashable, Sendable {
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
package final class SharedStore {
    /// Counters since the start.
    package struct Counters: Sendable {
        /// Look-ups that found every type, that did not, and that had no reply in time.
        package var hits = 0
        package var misses = 0
        package var timeouts = 0
        /// Questions that came while it was in backoff, or had no address.
        package var skipped = 0
        /// Look-ups that waited while another server asked, and those of them that then had its answer.
        package var waits = 0
        package var served = 0
        /// Answers written, and those that were refused.
        package var written = 0
        package var refused = 0
        /// Values that are no answers.
        package var damaged = 0
    }

    package nonisolated let settings: SharedStoreSettings
    let keys: SharedKeys
    private let prefix: [UInt8]
    let loop: EventLoop
    let link: RedisLink
    let leases: LeaseWatch
    package internal(set) var counters = Counters()
    /// Whether this machine's clock can be right: else an answer's age is unknown, and nothing is shared.
    let hasTime: @Loop () -> Bool
    /// Seconds since 1970.
    let timeOfDay: @Sendable () -> Int64
    private let report: @Loop (SharedStoreEvent) -> Void

    /// Nil for a key that has not 32 bytes.
    ///
    /// - Parameters:
    ///   - bootstrap: looks up the host of Redis; must not forward to us.
    ///   - hasTime: whether this machine's clock can be right.
    package init?(
        _ settings: SharedStoreSettings, loop: EventLoop, bootstrap: any Upstream, paths: NetworkPaths,
        hasTime: @escaping @Loop () -> Bool, timeOfDay: @escaping @Sendable () -> Int64,
        report: @escaping @Loop (SharedStoreEvent) -> Void
    ) {
        guard let secret = SharedStoreSettings.keyBytes(settings.key.value), let keys = SharedKeys(secret: secret)
        else {
            return nil
        }
        self.settings = settings
        self.keys = keys
        prefix = Array(settings.prefix.utf8)
        self.loop = loop
        self.hasTime = hasTime
        self.timeOfDay = timeOfDay
        self.report = report
        let place = settings.redis.placeText
        link = RedisLink(settings.redis, loop: loop, bootstrap: bootstrap, paths: paths) { event in
            switch event {
            case .failed(let reason): report(.unavailable(place: place, reason: reason))
            case .recovered: report(.available(place: place))
            }
        }
        // What fails here is reported by the other one, or costs no more than a turn to ask.
        leases = LeaseWatch(
            RedisLink(settings.redis, loop: loop, bootstrap: bootstrap, paths: paths, report: { _ in }))
    }

    package var name: String { settings.redis.placeText }

    /// Whether it is in backoff, when the next probe may begin, and why.
    package var backoff: (nextProbe: Instant, reason: String)? {
        link.backoff.nextProbe.map { ($0, link.lastFailure) }
    }

    /// Connects, so that the first question finds a connection.
    package func start() { link.start() }

    package func networkChanged() {
        link.networkChanged()
        leases.networkChanged()
    }

    /// Ends its connections: nothing uses it any more.
    package func close() {
        link.shutDown()
        leases.close()
    }

    /// The name in Redis of what is at a place.
    func name(of place: SharedPlace) -> [UInt8] { prefix + place.name }

    /// Writes a sealed answer, without waiting for the reply.
    func write(_ value: [UInt8], to name: [UInt8], for lifetime: UInt32) {
        let milliseconds = Array("\(UInt64(lifetime) * 1_000)".utf8)
        let command = RedisCommand("SET", name, value, Array("PX".utf8), milliseconds)
        let sent = link.usable()?.send(command) { [self] reply in
            guard let reply else { return }
            guard let refusal = reply.refusal else { return counters.written += 1 }
            refused(refusal)
        }
        if sent != true { counters.refused += 1 }
    }

    /// A command that writes was refused.
    func refused(_ reason: String) {
        counters.refused += 1
        report(.refused(place: name, reason: reason))
        // Mostly after a failover: the name may lead to the new master already.
        if reason.hasPrefix("READONLY") { link.doubtAddress() }
    }

    /// A value is no answer.
    func foundDamage() {
        counters.damaged += 1
        report(.damaged(place: name))
    }

    /// Removes the answers to a question.
    func remove(_ question: SharedQuestion) {
        guard let place = keys.place(of: question) else { return }
        _ = link.usable()?.send(RedisCommand("DEL", name(of: place))) { _ in }
    }
}
