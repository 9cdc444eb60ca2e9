import DNSWire
import Scheduling

/// What all flights share: where equal questions meet, and where results are cached, remembered and checked again.
@Loop
final class FlightEnvironment: Sendable {
    nonisolated let store: AnswerStore
    nonisolated let clock: any LoopClock
    nonisolated let coalescer: Coalescer
    nonisolated let repair: AnswerRepair
    nonisolated let failures = FailureMemory()
    /// Limits the misses of each client network; nil: nothing does.
    var brake: MissBrake?
    /// What each client network has had of the providers' limits.
    var shares = CallShares()
    /// How many misses they have refused since the start.
    var refusedMisses = 0

    /// - Parameter flightLimit: the most flights at once.
    nonisolated init(store: AnswerStore, clock: any LoopClock, flightLimit: Int) {
        self.store = store
        self.clock = clock
        coalescer = Coalescer(clock: clock, limit: flightLimit)
        repair = AnswerRepair(store: store, clock: clock)
    }

    /// Why a question failed just now and is not asked again; also nil when it would begin the probe of a provider.
    func remembered(_ key: FlightKey, _ type: RecordType, by policy: ResolverPolicy) -> ExtendedError? {
        let error = failures.remembered(
            key, type, at: clock.now, recovery: policy.strategy.lastRecovery(for: key))
        return error == nil || policy.strategy.outlook(for: key) == .probeDue ? nil : error
    }
}
