import DNSWire
import Scheduling

/// The requests of one question to the providers' addresses: the first at once, another when one fails or is slow.
///
/// Once time has passed the providers are asked by turns, so that the addresses of one that is silent never use up the
/// time of the next. While all addresses are in backoff it waits for their probes. Ends when no slot waits for a provider
/// any more, when no address is left to ask, or at the deadline.
@Loop
final class ProviderRequests: Cancellable {
    /// At most two attempts per address for one question (RFC 9520 section 3.1 allows three).
    private nonisolated static let tries = 2

    /// An address, and this question's attempts at it.
    struct Place {
        let candidate: Candidate
        var tries = 0
        /// The attempt under way.
        var attempt: Attempt?
        var isOver = false
        /// Whether a probe of it was awaited.
        var isProbed = false

        /// Whether it may be asked now, or after a probe.
        var isOpen: Bool { !isOver && attempt == nil && tries < ProviderRequests.tries }
    }

    /// One attempt: a request, or one for each type to a service that does not take both families together.
    @Loop
    final class Attempt {
        /// The index of its address among the places.
        let place: Int
        let began: Instant
        /// How many types it asks for.
        private let typeCount: Int
        var missingParts: Int
        /// Whether another address is asked already: a part of this attempt failed, or it leaves a type out.
        var isReplaced = false
        /// Its results so far, without its last part; nil: none.
        var reply: UpstreamReply?
        /// The object that receives its results; nil once they are ignored.
        private var owner: ProviderRequests?
        /// The requests, while they may be under way.
        private var requests = ShortList<any Cancellable>()

        init(at place: Int, began: Instant, typeCount: Int, parts: Int, of owner: ProviderRequests) {
            self.place = place
            self.began = began
            self.typeCount = typeCount
            self.owner = owner
            missingParts = parts
        }

        /// Begins a request for all or one of its types.
        func ask(_ question: UpstreamQuestion, at endpoint: any Endpoint) {
            // One reference is all that the closure needs: with more, it would have an allocation of its own.
            requests.append(endpoint.begin(question) { reply in self.owner?.received(reply, for: self) })
        }

        /// Whether it asks for every type of a question.
        func isWhole(for slots: Slots) -> Bool { typeCount == slots.types.count }

        /// Goes on for another question.
        func goOn(for owner: ProviderRequests) { self.owner = owner }

        func cancel() {
            requests.forEach { $0.cancel() }
            release()
        }

        /// Breaks the reference cycles.
        func release() {
            owner = nil
            requests.removeAll()
        }
    }

    let key: FlightKey
    let deadline: Instant
    /// The indices of the providers that may be asked, best first, and all providers.
    let eligible: [Int]
    let providers: ProviderSet
    let slots: Slots
    /// The addresses, provider by provider, in order: those in backoff too, for a probe may succeed in time.
    var places: [Place] = []
    var underWay = 0
    /// Whether a provider has replied.
    private var hasReply = false
    /// The providers that have answered records of the name.
    private var knowing: [Int] = []
    /// When the first attempt began.
    private var firstBegan: Instant?
    private var hasHedged = false
    /// When `hedge()` is to be called; nil: never, as far as is known.
    private(set) var due: Instant?
    /// Set while all addresses are in backoff.
    var wait: (any Cancellable)?
    /// Called when the slots have changed. Nil once it is over.
    var changed: (@Loop () -> Void)?

    var clock: any LoopClock { providers.probes.clock }

    /// - Parameters:
    ///   - slots: the replies are added to them.
    ///   - deadline: until when attempts may begin.
    ///   - changed: called when the slots have changed, also before `start()` returns; not after `cancel()`.
    init(
        _ key: FlightKey, _ slots: Slots, of eligible: [Int], in providers: ProviderSet, until deadline: Instant,
        changed: @escaping @Loop () -> Void
    ) {
        self.key = key
        self.slots = slots
        self.eligible = eligible
        self.providers = providers
        self.deadline = deadline
        self.changed = changed
    }

    func start() {
        var hasBackoffs = false
        for index in eligible {
            let provider = providers.all[index]
            if let reason = provider.unavailability {
                key.note(.ask, "\(provider.name) is not asked: \(reason)")
                provider.leftOut()
                continue
            }
            let endpoints = provider.endpoints
            if provider.access.isActive { hasBackoffs = true }
            for endpoint in provider.ranking.order(endpoints, family: endpoints.first?.family ?? .ipv4) {
                if !endpoint.health.isUsable { hasBackoffs = true }
                places.append(Place(candidate: Candidate(index: index, provider: provider, endpoint: endpoint)))
            }
        }
        startNext()
        if underWay == 0 {
            waitOrFinish()
        } else if hasBackoffs {
            probeAddressesInBackoff(isUrgent: false)
        }
    }

    /// Starts in place of an earlier object, whose question is asked once more: the addresses count as not asked, but for
    /// the requests under way, whose replies are those to the new question too.
    func start(insteadOf earlier: ProviderRequests) {
        (places, underWay) = (earlier.places, earlier.underWay)
        (earlier.places, earlier.underWay) = ([], 0)
        earlier.cancel()
        for index in places.indices {
            places[index].attempt?.goOn(for: self)
            let isAsked = places[index].attempt != nil
            places[index].tries = isAsked ? 1 : 0
            places[index].isOver = false
            if !isAsked { places[index].isProbed = false }
        }
        if underWay > 0 {
            complete(asked: earlier.slots.typesForProviders)
        } else {
            startNext()
            if underWay == 0 { waitOrFinish() }
        }
    }

    /// Has the latest attempt under way ask for every type, unless one does.
    ///
    /// - Parameter asked: the types that each of them asks for.
    private func complete(asked: [RecordType]) {
        let attempts = places.compactMap(\.attempt)
        let latest = attempts.max { $0.began < $1.began }
        guard let attempt = attempts.first(where: { $0.isWhole(for: slots) }) ?? latest else { return }
        for other in attempts where !other.isWhole(for: slots) && other !== attempt {
            // For what it leaves out, its provider was not asked.
            other.isReplaced = true
            places[other.place].tries = 0
        }
        let candidate = places[attempt.place].candidate
        due = clock.now + patience(with: candidate.endpoint)
        guard !attempt.isWhole(for: slots) else { return }
        for type in slots.types where !asked.contains(type) {
            key.note(.ask, "\(candidate.text) is asked for \(type), too")
            attempt.missingParts += 1
            attempt.ask(UpstreamQuestion(key, [type], until: deadline), at: candidate.endpoint)
        }
    }

    func cancel() {
        changed = nil
        withdraw()
    }

    // MARK: Attempts

    /// Asks another provider, or address, as well, since the first is slow. Where none is left, those in backoff are
    /// probed: one may be back, and is asked at the next call then.
    func hedge() {
        due = nil
        guard changed != nil, underWay > 0 else { return }
        hasHedged = true
        let earlier = underWay
        startNext(isHedge: true)
        let now = clock.now
        if hasUnaskedProvider(isSparing: now < sparingEnds) {
            due = now + Budget.hedge
        } else if hasUnaskedProvider(isSparing: false) {
            due = sparingEnds
        } else if hasOnlyBackoffsLeft {
            if underWay == earlier, isAllSilent { probeAddressesInBackoff(isUrgent: true) }
            due = now + Budget.hedge
        }
    }

    /// Whether addresses in backoff, and no others, are left to be asked. A refused account is no sign that the address may
    /// be back.
    private var hasOnlyBackoffsLeft: Bool {
        var hasBackoffs = false
        for place in places where place.isOpen {
            if place.candidate.isUsable { return false }
            if place.candidate.isInBackoff, !place.candidate.provider.access.isActive { hasBackoffs = true }
        }
        return hasBackoffs
    }

    /// Whether no address that is being asked has answered another question meanwhile: then it is not the name that is slow.
    private var isAllSilent: Bool {
        places.allSatisfy { place in
            place.attempt.map { !place.candidate.endpoint.health.hasAnswered(since: $0.began) } ?? true
        }
    }

    /// Begins the probes of those that are due.
    ///
    /// - Parameter isUrgent: whether all that was asked is silent, so that there is nothing else to ask; accounts that were
    ///   refused are left out then.
    private func probeAddressesInBackoff(isUrgent: Bool) {
        for place in places where place.isOpen && place.candidate.isInBackoff {
            if isUrgent, place.candidate.provider.access.isActive { continue }
            providers.probes.beginIfDue(place.candidate, isUrgent: isUrgent)
        }
    }

    /// When providers that are spared as hedges are asked nevertheless.
    private var sparingEnds: Instant { deadline - (Budget.lastStart - Budget.spared) }

    /// How long the first attempt may take before another one is begun beside it: half as long again as is usual there.
    private func patience(with endpoint: any Endpoint) -> Duration {
        guard let usual = endpoint.health.responseTime.average else { return Budget.hedge }
        return min(max(Budget.hedge, usual * 3 / 2), Budget.latestHedge)
    }

    func startNext(isHedge: Bool = false) {
        let now = clock.now
        let isLate = isHedge || firstBegan.map { now - $0 >= Budget.hedge } ?? false
        guard now < deadline, let place = next(byTurns: isLate, isSparing: isHedge && now < sparingEnds) else { return }
        let candidate = places[place].candidate
        let types = slots.typesForProviders
        let isTogether = types.count == 1 || candidate.provider.answersBothFamilies
        let attempt = Attempt(
            at: place, began: now, typeCount: types.count, parts: isTogether ? 1 : types.count, of: self)
        places[place].tries += 1
        places[place].attempt = attempt
        underWay += 1
        if firstBegan == nil { firstBegan = now }
        if !hasHedged, due == nil { due = now + patience(with: candidate.endpoint) }
        candidate.endpoint.health.began()
        key.note(
            .ask, "\(candidate.text) is asked for \(types.traceText)\(isHedge ? ", too: the first is slow" : "")")
        if isTogether {
            attempt.ask(UpstreamQuestion(key, types, until: deadline), at: candidate.endpoint)
        } else {
            for type in types { attempt.ask(UpstreamQuestion(key, [type], until: deadline), at: candidate.endpoint) }
        }
    }

    /// The next address that can be asked, the one asked least, the first of these in order; nil when there is none now.
    ///
    /// - Parameters:
    ///   - byTurns: whether a provider that was asked less goes before one that was asked more.
    ///   - isSparing: whether providers that are spared as hedges are left out. A second address of one under way may
    ///     always be asked: it is the same service, at the same price.
    private func next(byTurns: Bool, isSparing: Bool) -> Int? {
        var best: (place: Int, provider: Int, own: Int)?
        for index in places.indices where places[index].isOpen {
            let candidate = places[index].candidate
            guard candidate.isUsable else { continue }
            let asked = byTurns || isSparing ? tries(of: candidate.index) : 0
            if isSparing, asked == 0, !candidate.provider.mayHedge { continue }
            let rank = (provider: byTurns ? asked : 0, own: places[index].tries)
            if let best, (best.provider, best.own) <= rank { continue }
            best = (index, rank.provider, rank.own)
            // Mostly the first one: none can be better.
            if rank == (0, 0) { break }
        }
        return best?.place
    }

    /// Whether some provider that can be asked has not been.
    ///
    /// - Parameter isSparing: whether those that are spared as hedges are left out.
    private func hasUnaskedProvider(isSparing: Bool) -> Bool {
        for place in places where place.candidate.isUsable && (place.candidate.provider.mayHedge || !isSparing) {
            if tries(of: place.candidate.index) == 0 { return true }
        }
        return false
    }

    private func tries(of provider: Int) -> Int {
        var count = 0
        for place in places where place.candidate.index == provider { count += place.tries }
        return count
    }

    // MARK: Replies

    /// Called with a part of an attempt's reply, or the whole of it.
    private func received(_ reply: UpstreamReply, for attempt: Attempt) {
        guard changed != nil else { return }
        let candidate = places[attempt.place].candidate
        attempt.missingParts -= 1
        let mayStart: Bool
        if attempt.missingParts == 0 {
            // Mostly there is one part, and no copy is made.
            if let earlier = attempt.reply { end(attempt, earlier.adding(reply)) } else { end(attempt, reply) }
            mayStart = !attempt.isReplaced || underWay == 0
        } else {
            // Nothing is known of the other type yet: only a failure is a reason to ask elsewhere.
            mayStart = reply.failure != nil
            attempt.isReplaced = mayStart
            attempt.reply = attempt.reply?.adding(reply) ?? reply
        }
        // Without a filter no copy is made.
        let goesOn =
            providers.filter.isEmpty
            ? add(reply, of: candidate) : add(providers.filter.admitted(reply, to: key.name), of: candidate)
        guard goesOn else { return finish() }
        changed?()
        // That may have called `cancel()`.
        guard changed != nil else { return }
        if mayStart { startNext() }
        if underWay == 0 { waitOrFinish() }
    }

    /// Adds a reply to the slots, and returns whether one of them still awaits a provider.
    private func add(_ reply: UpstreamReply, of candidate: Candidate) -> Bool {
        hasReply = true
        if slots.add(reply, of: candidate) {
            for index in places.indices where places[index].candidate.index == candidate.index {
                places[index].isOver = true
            }
        }
        guard slots.needProviders else { return false }
        if reply.hasRecords, !knowing.contains(candidate.index) { knowing.append(candidate.index) }
        slots.confirmEmpty(of: key.name, by: knowing)
        return slots.needProviders
    }

    /// Ends an attempt whose reply is complete.
    private func end(_ attempt: Attempt, _ reply: UpstreamReply) {
        underWay -= 1
        key.note(
            .reply,
            "\(places[attempt.place].candidate.text) after \((clock.now - attempt.began).traceText): \(reply.traceText(slots.types))"
        )
        attempt.release()
        places[attempt.place].attempt = nil
        if reply.endsEndpoint { places[attempt.place].isOver = true }
        providers.probes.note(reply, from: places[attempt.place].candidate, began: attempt.began)
    }

    // MARK: The end

    func finish() {
        let changed = changed.take()
        withdraw()
        if slots.needProviders {
            slots.endProviders(.failure(hasReply ? .timeout : .network(providers.reasonAgainst(eligible))))
        }
        changed?()
    }

    /// Cancels what is under way. An address that is slower than another one, or than LocalDNS, is judged by that.
    private func withdraw() {
        due = nil
        wait.take()?.cancel()
        guard underWay > 0 else { return }
        underWay = 0
        for index in places.indices {
            guard let attempt = places[index].attempt.take() else { continue }
            key.note(
                .reply, "\(places[index].candidate.text) is given up after \((clock.now - attempt.began).traceText)")
            attempt.cancel()
            var reply = attempt.reply ?? UpstreamReply([:])
            for type in slots.types where reply.results[type] == nil { reply.results[type] = .failure(.cancelled) }
            providers.probes.note(reply, from: places[index].candidate, began: attempt.began)
        }
    }
}
