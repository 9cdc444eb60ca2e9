import DNSWire
import Scheduling

/// HTTPDNS and LocalDNS asked for one protected name: the first source at once, the second when it is due or the first
/// has failed.
@Loop
final class SourceRun: Cancellable {
    private let job: Job
    private let strategy: Strategy
    private var race: SourceRace
    private let settle: Strategy.Settle
    /// Nil once it is over.
    private var done: (@Loop () -> Void)?
    private var attempts: ProviderAttempts?
    private var lookUps: [any Cancellable] = []
    private var lookUpsUnderWay = 0
    /// When another address of a provider is asked as well; nil: it has been, or need not be.
    private var hedgeDue: Instant?
    /// When the second source is asked; nil: it was time for that.
    private var secondDue: Instant?
    /// While another question tries whether a provider is back.
    private var trial: (any Cancellable)?
    /// When that is no longer waited for.
    private var trialDue: Instant?
    /// For what is due next: one for all, for mostly none comes to pass.
    private var timer: LoopTimer?

    /// What is asked, and since when.
    struct Job {
        let key: FlightKey
        /// Those that may be asked, best first.
        let providers: [Int]
        let began: Instant
    }

    init(
        _ job: Job, _ race: SourceRace, of strategy: Strategy, settle: @escaping Strategy.Settle,
        done: @escaping @Loop () -> Void
    ) {
        self.job = job
        self.race = race
        self.strategy = strategy
        self.settle = settle
        self.done = done
    }

    /// Begins; everything may be over before this returns.
    func start() {
        secondDue = job.began + Budget.reserve
        start(race.first)
        // Who is under way tells of himself.
        if attempts == nil, lookUpsUnderWay == 0 { goOn() }
        if timer == nil { setTimer() }
    }

    private func setTimer() {
        guard done != nil, let due = nextDue else { return }
        timer?.cancel()
        timer = strategy.clock.schedule(at: due) { [self] in act() }
    }

    private var nextDue: Instant? {
        let due = earlier(hedgeDue, secondDue)
        return trialDue == nil ? due : earlier(due, trialDue)
    }

    private func earlier(_ one: Instant?, _ other: Instant?) -> Instant? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    /// Does what is due.
    private func act() {
        timer = nil
        let now = strategy.clock.now
        if let due = hedgeDue, due <= now {
            hedgeDue = nil
            attempts?.startAnother()
        }
        if let due = secondDue, due <= now {
            secondDue = nil
            startSecond()
            goOn()
        }
        if let due = trialDue, due <= now { endTrial() }
        if timer == nil { setTimer() }
    }

    func cancel() {
        done = nil
        withdraw()
    }

    private func startSecond() { start(race.first.other) }

    private func start(_ contender: Contender) {
        let types = race.start(contender, at: strategy.clock.now)
        guard !types.isEmpty else { return }
        switch contender {
        case .httpdns:
            if strategy.isTrialUnderWay(job) { awaitTrial() } else { askProviders(types) }
        case .localDNS:
            for type in types {
                lookUpsUnderWay += 1
                lookUps.append(
                    strategy.askLocalDNS(job, type, isFirst: race.first == .localDNS) { [self] result, server in
                        lookUpsUnderWay -= 1
                        race.take(type, result, from: server)
                        goOn()
                    })
            }
        }
    }

    private func askProviders(_ types: [RecordType]) {
        let begun = strategy.askProviders(job, types) { [self] told, isLast in
            if isLast { attempts = nil }
            race.take(told, isLast: isLast)
            goOn()
        }
        attempts = begun
        begun.start()
        guard attempts != nil else { return }
        hedgeDue = strategy.clock.now + Budget.hedge
        setTimer()
    }

    /// Waits for what another question finds out, which costs the provider nothing.
    private func awaitTrial() {
        race.awaitTrial(hindrance: strategy.hindrance(job))
        trial = strategy.whenTrialEnds { [self] in endTrial() }
        trialDue = job.began + Budget.lastStart
        setTimer()
    }

    /// Asks the providers, of which one may be back, unless somebody else tries the next.
    private func endTrial() {
        trial?.cancel()
        (trial, trialDue) = (nil, nil)
        guard done != nil else { return }
        let isInTime = strategy.clock.now < job.began + Budget.lastStart
        if isInTime, strategy.isTrialUnderWay(job) {
            awaitTrial()
        } else {
            race.endTrial(isAsked: isInTime)
            if isInTime { askProviders(race.openTypes) }
            goOn()
        }
    }

    /// Hands on what is settled, and starts the second source as soon as it is needed.
    private func goOn() {
        tell()
        guard done != nil, !race.isOver else { return finish() }
        if race.needsSecond {
            startSecond()
            tell()
        }
        if race.isOver || (attempts == nil && lookUpsUnderWay == 0 && secondDue == nil && trial == nil) {
            finish()
        }
    }

    private func tell() {
        while done != nil, let settled = race.takeSettled() {
            settle(settled.type, settled.result, settled.source, settled.server)
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
        trial?.cancel()
        trial = nil
        attempts?.cancel()
        attempts = nil
        for lookUp in lookUps { lookUp.cancel() }
        lookUps = []
        lookUpsUnderWay = 0
    }
}
