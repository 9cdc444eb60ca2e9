import Scheduling

/// HTTPDNS and LocalDNS asked for one protected name: the first source at once, the second when it is due or the first
/// has failed.
@Loop
final class SourceRun: Cancellable {
    private let question: Question
    private let strategy: Strategy
    private var race: SourceRace
    private let settle: Strategy.Settle
    /// Nil once it is over.
    private var done: (@Loop () -> Void)?
    private var attempts: ProviderAttempts?
    private var lookUps: [any Cancellable] = []
    private var lookUpsUnderWay = 0
    private var secondDue: LoopTimer?

    /// What is asked, and since when.
    struct Question {
        let key: FlightKey
        /// Those that may be asked, best first.
        let providers: [Int]
        /// Whether a provider may be asked for it in one request with others.
        let mayBeBatched: Bool
        let began: Instant
    }

    init(
        _ question: Question, _ race: SourceRace, of strategy: Strategy, settle: @escaping Strategy.Settle,
        done: @escaping @Loop () -> Void
    ) {
        self.question = question
        self.race = race
        self.strategy = strategy
        self.settle = settle
        self.done = done
    }

    /// Begins; everything may be over before this returns.
    func start() {
        secondDue = strategy.clock.schedule(at: question.began + Budget.reserve) { [self] in
            secondDue = nil
            startSecond()
            goOn()
        }
        start(race.first)
        goOn()
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
            let begun = strategy.askProviders(question, types) { [self] told, isLast in
                if isLast { attempts = nil }
                race.take(told)
                goOn()
            }
            attempts = begun
            begun.start()
        case .localDNS:
            for type in types {
                lookUpsUnderWay += 1
                lookUps.append(
                    strategy.askLocalDNS(question, type, isFirst: race.first == .localDNS) { [self] result, server in
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
            startSecond()
            tell()
        }
        if race.isOver || (attempts == nil && lookUpsUnderWay == 0 && secondDue == nil) { finish() }
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
        secondDue?.cancel()
        secondDue = nil
        attempts?.cancel()
        attempts = nil
        for lookUp in lookUps { lookUp.cancel() }
        lookUps = []
        lookUpsUnderWay = 0
    }
}
