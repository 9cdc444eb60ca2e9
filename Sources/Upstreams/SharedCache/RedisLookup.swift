import DNSCache
import DNSResolver
import DNSWire
import Platform
import Scheduling

/// One look-up in Redis: reads the values; when one is missing, takes the turn to ask, or waits while another server has it.
///
/// Whatever fails, and whatever is late, ends it with what is known: the provider is asked for the rest.
@Loop
final class RedisLookup: SharedLookup {
    /// How long the answer of another server is awaited.
    private nonisolated static let patience: Duration = .milliseconds(300)
    /// How long a turn lasts that is not given back, since its server has died: as long as a question is under way
    /// (`Budget.lastStart`), so that it ends while no other question takes its place.
    private nonisolated static let turn: Duration = .seconds(2)

    /// One type: its name in Redis, and the answer once it is found.
    private struct Part {
        let place: SharedPlace
        let name: [UInt8]
        var answer: SharedAnswer?
    }

    private enum Phase {
        /// The values are read.
        case reading
        /// The turn is asked for.
        case asking
        /// Another server has the turn.
        case waiting
        /// The caller has the result.
        case done
    }

    private let store: SharedStore
    private let freshness: FreshnessPolicy
    private var parts: [Part]
    private var phase = Phase.reading
    /// The number of the last command sent: replies to earlier reads say nothing any more.
    private var round = 0
    private var unread = 0
    private var timer: LoopTimer?
    private var waiter: LeaseWatch.Waiter?
    /// Whether the turn to ask is ours.
    private var hasTurn = false
    /// Whether an answer was written.
    private var hasShared = false
    /// Nil once called, and after `cancel()`.
    private var done: (@Loop ([SharedAnswer]) -> Void)?

    /// Nil when Redis cannot be asked now.
    init?(
        _ questions: [SharedQuestion], in store: SharedStore, freshness: FreshnessPolicy,
        done: @escaping @Loop ([SharedAnswer]) -> Void
    ) {
        self.store = store
        self.freshness = freshness
        parts = []
        for question in questions {
            guard let place = store.keys.place(of: question) else { return nil }
            parts.append(Part(place: place, name: store.name(of: place)))
        }
        self.done = done
        guard read() else { return nil }
        timer = store.loop.schedule(after: store.settings.redis.timeout) { [self] in timedOut() }
    }

    /// The turn is that of the first type: all servers ask for the same ones together.
    private var turnName: [UInt8] { (parts.first?.name ?? []) + Array(":turn".utf8) }
    private var channel: [UInt8] { (parts.first?.name ?? []) + Array(":done".utf8) }

    // MARK: Reading

    /// Reads the values that are missing.
    ///
    /// - Returns: false when nothing could be sent.
    private func read() -> Bool {
        guard let connection = store.link.usable() else { return false }
        round += 1
        let missing = parts.indices.filter { parts[$0].answer == nil }
        unread = missing.count
        return missing.allSatisfy { index in
            connection.send(RedisCommand("GET", parts[index].name)) { [self, round] reply in
                guard round == self.round, done != nil else { return }
                received(reply, at: index)
            }
        }
    }

    private func received(_ reply: RedisReply?, at index: Int) {
        // The connection has ended.
        guard let reply else { return finish() }
        if case .bytes(let value) = reply {
            if let sealed = SealedAnswer(value, for: parts[index].place) {
                parts[index].answer = sealed.shared(
                    as: parts[index].place.question.question.type, at: store.timeOfDay())
            } else {
                store.foundDamage()
            }
        }
        unread -= 1
        guard unread == 0 else { return }
        if parts.allSatisfy({ $0.answer != nil }) {
            if phase == .waiting { store.counters.served += 1 }
            return finish()
        }
        switch phase {
        case .reading: askForTurn()
        case .waiting where isPublished: finish()
        case .asking, .waiting, .done: break
        }
    }

    // MARK: The turn

    private func askForTurn() {
        guard store.settings.takesTurns else { return finish() }
        phase = .asking
        let command = RedisCommand(
            "SET", turnName, Array("1".utf8), Array("NX".utf8), Array("PX".utf8),
            Array("\(Int(Self.turn / .milliseconds(1)))".utf8))
        let sent = store.link.usable()?.send(command) { [self] reply in
            switch reply {
            case .status:
                hasTurn = true
                // Given up meanwhile, it is given back.
                if done == nil { giveTurnBack() } else { finish() }
            case .nothing: if done != nil { wait() }
            case .error(let reason):
                store.refused(reason)
                finish()
            case .integer, .bytes, .list, nil: finish()
            }
        }
        if sent != true { finish() }
    }

    /// Whether the server that had the turn is done.
    private var isPublished = false

    private func wait() {
        phase = .waiting
        store.counters.waits += 1
        timer?.cancel()
        timer = store.loop.schedule(after: Self.patience) { [self] in finish() }
        waiter = store.leases.wait(on: channel) { [self] event in
            guard done != nil else { return }
            if case .isPublished = event { isPublished = true }
            // The answer may have come before the subscription.
            if !read() { finish() }
        }
        if waiter == nil { finish() }
    }

    /// No reply in time: a backoff begins.
    private func timedOut() {
        store.counters.timeouts += 1
        store.link.failed("no reply within \(Int(store.settings.redis.timeout / .milliseconds(1))) ms")
        finish()
    }

    // MARK: The end

    private func finish() {
        phase = .done
        endWait()
        guard let done = done.take() else { return }
        let found = parts.compactMap(\.answer)
        if found.count == parts.count { store.counters.hits += 1 } else { store.counters.misses += 1 }
        // The caller expects no call before its own has returned.
        store.loop.atTurnEnd { [self] in if !isCancelled { done(found) } }
    }

    private func endWait() {
        timer?.cancel()
        timer = nil
        waiter?.cancel()
        waiter = nil
    }

    private var isCancelled = false

    func share(_ answer: Answer, _ type: RecordType, of provider: Int, from server: String) {
        guard let part = parts.first(where: { $0.place.question.question.type == type }), store.hasTime(),
            let provider = UInt8(exactly: provider),
            answer.responseCode == .noError || answer.responseCode == .nameError
        else { return }
        let normalized = freshness.normalized(answer, for: part.place.question.question)
        let lifetime = freshness.lifetime(of: normalized, for: type)
        let sealed = SealedAnswer(
            answer: normalized, received: store.timeOfDay(), lifetime: lifetime, provider: provider, server: server)
        guard lifetime > 0, let value = sealed.sealed(for: part.place) else { return }
        store.write(value, to: part.name, for: lifetime)
        hasShared = true
    }

    func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        done = nil
        endWait()
        if hasTurn { giveTurnBack() }
    }

    /// Also after a failure: the others need not wait for nothing.
    private func giveTurnBack() {
        hasTurn = false
        guard let connection = store.link.usable() else { return }
        // A look-up that has found no answer just before there was one asks for the turn within its time-out: it shall not get
        // it, but find the answer.
        let end = Array("\(Int(store.settings.redis.timeout / .milliseconds(1)))".utf8)
        let command = hasShared ? RedisCommand("PEXPIRE", turnName, end) : RedisCommand("DEL", turnName)
        _ = connection.send(command) { _ in }
        _ = connection.send(RedisCommand("PUBLISH", channel, [])) { _ in }
    }
}
