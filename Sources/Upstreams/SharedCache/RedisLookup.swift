public import DNSCache
public import DNSResolver
public import DNSWire
import Platform

/// One look-up in Redis: reads the value; when there is none, takes the lease to ask, or waits while another server has it.
///
/// Whatever fails, and whatever is late, ends it with what is known: the provider is asked for the rest.
@Loop
final class RedisLookup: SharedLookup {
    /// How long the answer of another server is awaited.
    private nonisolated static let patience: Duration = .milliseconds(300)
    /// How long a lease lasts that is not given back, since its server has died, in milliseconds: as long as a question is
    /// under way (`Budget.lastStart`), so that it ends while no other question takes its place.
    private nonisolated static let lease = Array("2000".utf8)
    /// What is in a value's place while a server has the lease.
    private nonisolated static let leased = Array("leased".utf8)
    /// An answer is removed when one part in so many of its lifetime is left: a server that prefetches would get what it
    /// already has. At a tenth of the lifetime it prefetches (`FreshnessPolicy.refreshMargin`).
    private nonisolated static let lastPart: UInt64 = 8

    private let store: SharedStore
    private let freshness: FreshnessPolicy
    private let question: SharedQuestion
    private let place: SharedPlace
    /// In Redis.
    private let name: [UInt8]
    private var found: [SealedAnswer] = []
    /// What the provider has answered meanwhile and is not written yet.
    private var unwritten: [SealedAnswer] = []
    private var hasLease = false
    /// Only while another server has the lease.
    private var timer: LoopTimer?
    /// Its number in `store.leases`.
    private var waiter: Int?
    /// Whether the server that had the lease is done.
    private var isPublished = false
    /// The number of the last read: an earlier one that finds nothing says nothing any more.
    private var round = 0
    private var isCancelled = false
    /// Nil once called, and after `cancel()`.
    private var done: (@Loop ([SharedAnswer]) -> Void)?

    /// Nil when Redis cannot be asked now.
    init?(
        _ question: SharedQuestion, in store: SharedStore, freshness: FreshnessPolicy,
        done: @escaping @Loop ([SharedAnswer]) -> Void
    ) {
        guard let place = store.keys.place(of: question) else { return nil }
        self.store = store
        self.freshness = freshness
        self.question = question
        self.place = place
        name = place.name
        self.done = done
        guard store.settings.takesLease ? readOrLease() : read() else { return nil }
    }

    // MARK: Reading

    /// Reads the value, or takes the lease if there is none: in one command, so that no other server comes between.
    private func readOrLease() -> Bool {
        let command = RedisCommand(
            "SET", name, Self.leased, Array("NX".utf8), Array("GET".utf8), Array("PX".utf8), Self.lease)
        return store.redis.send(command) { [self] reply in
            switch reply {
            case .nothing?:
                hasLease = true
                // Given up meanwhile, it is given back.
                if isCancelled { giveLeaseBack() } else { finish() }
            case .bytes(let value)? where value == Self.leased: wait()
            case .bytes(let value)?: open(value)
            case .error(let reason)?:
                // What it does not let us write it may let us read.
                store.refused(reason)
                if !isCancelled, !read() { finish() }
            case .status?, .integer?, .list?, nil: unanswered()
            }
        }
    }

    /// Reads the value. Returns false when nothing could be sent.
    private func read() -> Bool {
        round += 1
        return store.redis.send(RedisCommand("GET", name)) { [self, round] reply in
            guard let reply else { return unanswered() }
            if case .bytes(let value) = reply {
                if value != Self.leased { return open(value) }
                // Another read follows what is published.
                if waiter != nil, !isPublished { return }
            }
            if round == self.round { finish() }
        }
    }

    private func open(_ value: [UInt8]) {
        guard done != nil else { return }
        if let answers = SealedAnswer.opened(value, for: question, at: place) {
            found = answers
            if waiter != nil { store.counters.served += 1 }
        } else {
            store.foundDamage()
        }
        finish()
    }

    private func unanswered() {
        if done != nil { store.counters.timeouts += 1 }
        finish()
    }

    // MARK: The lease of another server

    private func wait() {
        guard done != nil else { return }
        store.counters.waits += 1
        timer = store.clock.schedule(after: Self.patience) { [self] in finish() }
        waiter = store.leases.wait(on: channel) { [self] in
            guard done != nil else { return }
            if $0 { isPublished = true }
            // The answer may have come before the subscription.
            if !read() { finish() }
        }
        if waiter == nil { finish() }
    }

    private var channel: [UInt8] { name + Array(":done".utf8) }

    // MARK: The end

    private func finish() {
        endWait()
        guard let done = done.take() else { return }
        let now = store.timeOfDay()
        let answers = found.compactMap { $0.shared(at: now) }
        // Of the families one may be all that is wanted.
        if answers.isEmpty { store.counters.misses += 1 } else { store.counters.hits += 1 }
        done(answers)
    }

    private func endWait() {
        timer.take()?.cancel()
        if let waiter = waiter.take() { store.leases.endWait(waiter, on: channel) }
    }

    func share(_ answer: Answer, _ type: RecordType, of provider: Int, from server: String) {
        guard question.types.contains(type), store.hasTime(), let provider = UInt8(exactly: provider),
            answer.responseCode == .noError || answer.responseCode == .nameError
        else { return }
        let normalized = freshness.normalized(answer, for: Question(name: question.name, type: type))
        let lifetime = freshness.lifetime(of: normalized, for: type)
        guard lifetime > 0 else { return }
        unwritten.removeAll { $0.type == type }
        unwritten.append(
            SealedAnswer(
                type: type, answer: normalized, received: store.timeOfDay(), lifetime: lifetime, provider: provider,
                server: server))
        if unwritten.count == question.types.count { write() }
    }

    func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        done = nil
        endWait()
        if !unwritten.isEmpty { write() }
        if hasLease { giveLeaseBack() }
    }

    /// Writes what was answered, beside what was found of another type, in the place of the lease.
    private func write() {
        let now = store.timeOfDay()
        let old = found.filter { old in !unwritten.contains { $0.type == old.type } && old.shared(at: now) != nil }
        let answers = unwritten + old
        unwritten = []
        let lifetime = answers.compactMap { $0.shared(at: now)?.remaining }.min() ?? 0
        guard lifetime > 0, let value = SealedAnswer.sealed(answers, for: question, at: place) else { return }
        store.write(value, to: name, for: UInt64(lifetime) * 1_000 / Self.lastPart * (Self.lastPart - 1))
        hasLease = false
        if store.settings.takesLease { publish() }
    }

    /// After a failure: the others need not wait for nothing.
    private func giveLeaseBack() {
        hasLease = false
        _ = store.redis.send(RedisCommand("DEL", name)) { _ in }
        publish()
    }

    private func publish() {
        _ = store.redis.send(RedisCommand("PUBLISH", channel, [])) { _ in }
    }
}

/// The shared answers as one policy may use them: `SharedStore` holds those of every policy, each under its own names.
@Loop
public final class SharedCache: SharedAnswers {
    /// Bytes of a policy's digest.
    private nonisolated static let policyLength = 16

    public nonisolated let store: SharedStore
    /// What the policy is called: another one wherever an answer may be another one.
    private nonisolated let policy: [UInt8]
    private nonisolated let freshness: FreshnessPolicy

    /// - Parameters:
    ///   - policy: which providers may decide, and all that their answers depend on; the same text on every server of the
    ///     fleet.
    ///   - freshness: by which TTLs are raised and cut before answers are shared.
    public nonisolated init(_ store: SharedStore, policy: String, freshness: FreshnessPolicy) {
        self.store = store
        self.freshness = freshness
        // Without SHA-256 in the library there is no sealing either.
        let digest = OpenSSLCrypto().sha256(Array(policy.utf8)) ?? []
        self.policy = Array((digest + [UInt8](repeating: 0, count: Self.policyLength)).prefix(Self.policyLength))
    }

    public func begin(
        _ key: FlightKey, _ types: [RecordType], done: @escaping @Loop ([SharedAnswer]) -> Void
    ) -> (any SharedLookup)? {
        guard store.hasTime() else { return nil }
        let question = SharedQuestion(key, types, policy: policy)
        guard let lookup = RedisLookup(question, in: store, freshness: freshness, done: done) else {
            store.counters.skipped += 1
            return nil
        }
        return lookup
    }

    /// Removes the addresses and service bindings of a name, for all servers. Those for single client networks stay until
    /// their TTL ends.
    public func remove(_ name: Name) {
        for types in [[RecordType.a, .aaaa], [.a], [.aaaa], [.https]] {
            for scope in [nil, ClientScope.undisclosed] {
                for (dnssecOK, checkingDisabled) in [(false, false), (true, false), (false, true), (true, true)] {
                    let key = FlightKey(
                        name: name.lowercased, type: types[0], route: .protect(explicit: false), dnssecOK: dnssecOK,
                        checkingDisabled: checkingDisabled, scope: scope)
                    store.remove(SharedQuestion(key, types, policy: policy))
                }
            }
        }
    }
}
