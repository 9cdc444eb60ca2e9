package import DNSWire
package import Scheduling

/// The cache of resolution failures: questions that no source could answer lately are not asked again for 1, 2, then
/// 5 s (RFC 9520 section 3.2).
///
/// An answer removes its own question, and with it those that failed by the same route without a connection or without
/// any response: the route works again. A question that was refused stays for its pause. At most `capacity` questions;
/// beyond it the memory is cleared, which costs attempts and never an answer.
@Loop
package final class FailureMemory {
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

    /// Failures without a connection or response, by route.
    private var unreachable: [Route: [Key: Failure]] = [:]
    private var refused: [Key: Failure] = [:]
    private var count = 0

    package nonisolated init() {}

    /// Whether no failure is remembered.
    var isEmpty: Bool { count == 0 }

    /// Why the question failed, while it is not to be asked again.
    ///
    /// - Parameters:
    ///   - hasStale: whether there is a stale answer: where one was given, the pause ends with it.
    ///   - recovery: when a backoff of a provider last ended: a failure of what was asked before is no longer
    ///     remembered.
    package func remembered(
        _ flight: FlightKey, _ type: RecordType, at now: Instant, hasStale: Bool = false, recovery: Instant? = nil
    ) -> ExtendedError? {
        guard count > 0 else { return nil }
        let key = Key(flight: flight, type: type)
        guard let failure = unreachable[flight.route]?[key] ?? refused[key], now < failure.until,
            hasStale || !failure.hadStale, recovery.map({ $0 < failure.asked }) ?? true
        else { return nil }
        return failure.error
    }

    /// Why the question failed last, and when it was asked, also if it may be asked again; nil when it never failed, or was
    /// answered since.
    func last(_ flight: FlightKey, _ type: RecordType) -> (error: ExtendedError, asked: Instant)? {
        let key = Key(flight: flight, type: type)
        return (unreachable[flight.route]?[key] ?? refused[key]).map { ($0.error, $0.asked) }
    }

    /// Records a failure.
    ///
    /// - Parameters:
    ///   - isTransport: whether there was no response at all.
    ///   - asked: when the question was asked.
    ///   - hasStale: whether clients had a stale answer instead.
    package func failed(
        _ flight: FlightKey, _ type: RecordType, isTransport: Bool, error: ExtendedError, at now: Instant,
        asked: Instant, hasStale: Bool = false
    ) {
        if count >= Self.capacity { forgetAll() }
        let key = Key(flight: flight, type: type)
        let earlier = unreachable[flight.route]?.removeValue(forKey: key) ?? refused.removeValue(forKey: key)
        if earlier == nil { count += 1 }
        let times = earlier.map { now - $0.until < Self.forgetAfter ? $0.count : 0 } ?? 0
        let pause = Self.pauses[min(times, Self.pauses.count - 1)]
        let failure = Failure(until: now + pause, count: times + 1, error: error, asked: asked, hadStale: hasStale)
        if isTransport {
            unreachable[flight.route, default: [:]][key] = failure
        } else {
            refused[key] = failure
        }
    }

    /// Clears the memory after a change of network, where the same questions may succeed.
    package func forgetAll() {
        unreachable = [:]
        refused = [:]
        count = 0
    }

    /// Called when the question has an answer.
    ///
    /// - Parameter isMadeHere: whether no source gave it, which says nothing of the route. Default: no.
    package func answered(_ flight: FlightKey, _ type: RecordType, isMadeHere: Bool = false) {
        guard count > 0 else { return }
        let key = Key(flight: flight, type: type)
        if !isMadeHere {
            count -= unreachable.removeValue(forKey: flight.route)?.count ?? 0
        } else if unreachable[flight.route]?.removeValue(forKey: key) != nil {
            count -= 1
        }
        if refused.removeValue(forKey: key) != nil { count -= 1 }
    }
}
