import DNSWire
import Scheduling

/// Asks HTTPDNS and LocalDNS for one protected name: the first source at once, the second when it is due or the first
/// has failed.
@Loop
final class SourceRun: Cancellable {
    private let job: SourcePair.Job
    private let sources: SourcePair
    private var race: SourceRace
    private let settle: SettleType
    /// Nil once the run is over.
    private var done: (@Loop () -> Void)?
    private var attempts: ProviderAttempts?
    private var lookUps: [any Cancellable] = []
    private var lookUpsUnderWay = 0
    /// When another provider is asked as well; nil: all have been asked, or need not be.
    private var hedgeDue: Instant?
    /// When the second source is asked; nil: that time has passed.
    private var secondDue: Instant?
    /// When a known result is taken although the other source has not answered; nil: there is none.
    private var concessionDue: Instant?
    /// One timer for whatever is due next: mostly none of it fires.
    private var timer: LoopTimer?

    init(
        _ job: SourcePair.Job, _ race: SourceRace, of sources: SourcePair, settle: @escaping SettleType,
        done: @escaping @Loop () -> Void
    ) {
        self.job = job
        self.race = race
        self.sources = sources
        self.settle = settle
        self.done = done
    }

    /// Begins; everything may be over before this returns.
    func start() {
        secondDue = job.began + Budget.reserve
        start(race.first)
        // Attempts and look-ups under way call `goOn()` themselves.
        if attempts == nil, lookUpsUnderWay == 0 { goOn() }
        if timer == nil { setTimer() }
    }

    private func setTimer() {
        guard done != nil, let due = nextDue else { return }
        timer?.cancel()
        timer = sources.clock.schedule(at: due) { [self] in act() }
    }

    @inline(__always)
    private var nextDue: Instant? {
        guard let hedgeDue else { return otherDue }
        guard let otherDue else { return hedgeDue }
        return min(hedgeDue, otherDue)
    }

    /// The next time besides the hedge; nothing waits for the second source before it was asked.
    @inline(__always)
    private var otherDue: Instant? { secondDue ?? concessionDue }

    /// Does what is due.
    private func act() {
        timer = nil
        let now = sources.clock.now
        if let due = hedgeDue, due <= now {
            hedgeDue = attempts?.hedge()
        }
        if let due = secondDue, due <= now {
            secondDue = nil
            startSecond()
            goOn()
        }
        if let due = concessionDue, due <= now {
            concessionDue = nil
            race.concede(at: now) { sources.isVerified(job) }
            goOn()
        }
        if timer == nil { setTimer() }
    }

    func cancel() {
        done = nil
        withdraw()
    }

    private func startSecond() { start(race.first.other) }

    private func start(_ contender: Contender) {
        let types = race.start(contender, at: sources.clock.now)
        guard !types.isEmpty else { return }
        switch contender {
        case .httpdns:
            askProviders(types)
        case .localDNS:
            for type in types {
                lookUpsUnderWay += 1
                lookUps.append(
                    sources.askLocalDNS(
                        job, type, isFirst: race.first == .localDNS,
                        received: { [self] response, server in
                            race.take(type, response: response, from: server)
                            goOn()
                            return race.isOpen(type)
                        },
                        done: { [self] result, _ in
                            lookUpsUnderWay -= 1
                            race.take(type, result)
                            goOn()
                        }))
            }
        }
    }

    private func askProviders(_ types: [RecordType]) {
        let begun = sources.askProviders(job, types) { [self] entries, progress in
            switch progress {
            case .partial: race.take(entries, isLast: false)
            case .waiting: race.awaitProbe(reason: sources.reasonAgainstProviders(job))
            case .finished:
                attempts = nil
                race.take(entries, isLast: true)
            }
            goOn()
            scheduleHedge()
        }
        attempts = begun
        begun.start()
        scheduleHedge()
    }

    private func scheduleHedge() {
        guard hedgeDue == nil, let attempts, let delay = attempts.hedgeDelay else { return }
        hedgeDue = sources.clock.now + delay
        setTimer()
    }

    /// Reports what is settled, and starts the second source as soon as it is needed.
    private func goOn() {
        tell()
        guard done != nil, !race.isOver else { return finish() }
        if race.needsSecond {
            startSecond()
            tell()
        }
        if race.isOver || (attempts == nil && lookUpsUnderWay == 0 && secondDue == nil) {
            finish()
        } else if let due = race.nextConcession, concessionDue.map({ due < $0 }) ?? true {
            concessionDue = due
            setTimer()
        }
    }

    private func tell() {
        while done != nil, let settled = race.takeSettled() {
            settle(settled.type, settled.result, settled.source, settled.server, race.finding(settled))
        }
    }

    private func finish() {
        guard done != nil else { return }
        withdraw()
        if !race.isOver {
            race.settleRest()
            tell()
        }
        done.take()?()
    }

    private func withdraw() {
        timer?.cancel()
        timer = nil
        attempts?.cancel()
        attempts = nil
        for lookUp in lookUps { lookUp.cancel() }
        lookUps = []
        lookUpsUnderWay = 0
    }
}
