import Scheduling

/// HTTPDNS and LocalDNS asked for one protected name: the first source at once, the second when it is due or the first
/// has failed.
@Loop
final class SourceRun: Cancellable {
    private let strategy: Strategy
    private var race: SourceRace
    private let first: Contender
    private let settle: Strategy.Settle
    /// Nil once it is over.
    private var done: (@Loop () -> Void)?
    private var attempts: ProviderAttempts?
    private var lookUps: [any Cancellable] = []
    private var lookUpsUnderWay = 0
    private var secondDue: LoopTimer?

    init(
        _ race: SourceRace, of strategy: Strategy, settle: @escaping Strategy.Settle, done: @escaping @Loop () -> Void
    ) {
        self.race = race
        first = race.first
        self.strategy = strategy
        self.settle = settle
        self.done = done
    }

    /// Begins; everything may be over before this returns.
    func start(secondAt: Instant) {
        secondDue = strategy.clock.schedule(at: secondAt) { [self] in
            secondDue = nil
            start(first.other)
            goOn()
        }
        start(first)
        goOn()
    }

    func cancel() {
        done = nil
        withdraw()
    }

    private func start(_ contender: Contender) {
        for work in race.start(contender, at: strategy.clock.now) {
            switch work {
            case .httpdns(let types):
                let begun = strategy.askProviders(race, types) { [self] reply, isLast in
                    if isLast { attempts = nil }
                    race.take(reply)
                    goOn()
                }
                attempts = begun
                begun.start()
            case .localDNS(let type):
                lookUpsUnderWay += 1
                lookUps.append(
                    strategy.askLocalDNS(race, type) { [self] result, server in
                        lookUpsUnderWay -= 1
                        race.take(type, result, from: server)
                        goOn()
                    })
            }
        }
    }

    /// Hands on what is settled, and starts the second source as soon as it is needed.
    private func goOn() {
        tell()
        guard done != nil, !race.isOver else { return finish() }
        if race.needsSecond {
            start(first.other)
            tell()
        }
        if race.isOver || (attempts == nil && lookUpsUnderWay == 0 && secondDue == nil) { finish() }
    }

    private func tell() {
        for settled in race.takeSettled() where done != nil {
            settle(settled.type, settled.result, settled.source, settled.server)
        }
    }

    private func finish() {
        guard done != nil else { return }
        withdraw()
        race.settleRest()
        tell()
        done.take()?()
    }

    private func withdraw() {
        secondDue?.cancel()
        secondDue = nil
        attempts?.cancel()
        attempts = nil
        for lookUp in lookUps { lookUp.cancel() }
        lookUps = []
        lookUpsUnderWay = 0
    }
}
