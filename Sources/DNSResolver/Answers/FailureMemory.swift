public import DNSWire

/// The cache of resolution failures: questions that no source could answer lately are not asked again for 1, 2, then
/// 5 s (RFC 9520 section 3.2).
///
/// An answer removes its question. At most `capacity` questions; beyond it the memory is cleared, which costs attempts and
/// never an answer.
@Loop
public final class FailureMemory {
    private static let capacity = 10_000
    private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(5)]
    /// How long after its pause a question must not be asked to begin with the shortest pause again.
    private static let forgetAfter: Duration = .seconds(60)

    private struct Failure {
        var until: Instant
        var count: Int
        var error: ExtendedError
        var asked: Instant
        var hadStale: Bool
    }

    private struct Key: Hashable {
        var flight: FlightKey
        var type: RecordType
    }

    private var failures: [Key: Failure] = [:]

    public nonisolated init() {}

    /// Whether no failure is remembered.
    var isEmpty: Bool { failures.isEmpty }

    /// Why the question failed, while it is not to be asked again: where a stale answer was given, the pause ends with that,
    /// and what was asked before a provider last recovered is remembered no longer.
    public func remembered(
        _ flight: FlightKey, _ type: RecordType, at now: Instant, hasStale: Bool = false, recovery: Instant? = nil
    ) -> ExtendedError? {
        guard !isEmpty, let failure = failures[Key(flight: flight, type: type)], now < failure.until,
            hasStale || !failure.hadStale, recovery.map({ $0 < failure.asked }) ?? true
        else { return nil }
        return failure.error
    }

    /// Why the question failed last, and when it was asked, also if it may be asked again; nil when it never failed, or was
    /// answered since.
    func last(_ flight: FlightKey, _ type: RecordType) -> (error: ExtendedError, asked: Instant)? {
        failures[Key(flight: flight, type: type)].map { ($0.error, $0.asked) }
    }

    /// Records a failure of what was asked then, and whether clients had a stale answer instead.
    public func failed(
        _ flight: FlightKey, _ type: RecordType, error: ExtendedError, at now: Instant, asked: Instant,
        hasStale: Bool = false
    ) {
        if failures.count >= Self.capacity { forgetAll() }
        let key = Key(flight: flight, type: type)
        let times = failures[key].map { now - $0.until < Self.forgetAfter ? $0.count : 0 } ?? 0
        let pause = Self.pauses[min(times, Self.pauses.count - 1)]
        failures[key] = Failure(until: now + pause, count: times + 1, error: error, asked: asked, hadStale: hasStale)
    }

    /// Clears the memory after a change of policy or network, by which the same questions may succeed.
    public func forgetAll() { failures = [:] }

    /// Called when the question has an answer.
    public func answered(_ flight: FlightKey, _ type: RecordType) {
        if !isEmpty { failures[Key(flight: flight, type: type)] = nil }
    }
}
