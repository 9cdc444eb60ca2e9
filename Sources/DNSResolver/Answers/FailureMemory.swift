package import DNSWire
package import Scheduling

/// Questions that no source could answer lately: they are not asked again for 1, 2, then 5 s (RFC 9520 section 3.2).
///
/// An answer makes its own question forgotten, and with it those that failed by the same route for want of a
/// connection or of any reply: the route is open again. A question that was refused stays for its pause. At most
/// `capacity` questions; beyond it the memory starts anew, which costs attempts and never an answer.
@Loop
package final class FailureMemory {
    private static let capacity = 10_000
    private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(5)]
    /// How long after its pause a question must be left in peace to begin with the shortest pause again.
    private static let forgetAfter: Duration = .seconds(60)

    private struct Failure {
        var until: Instant
        var count: Int
        var error: ExtendedError
        var recoveries: Int
    }

    private struct Key: Hashable {
        var flight: FlightKey
        var type: RecordType
    }

    /// Those for want of a connection or reply, by route.
    private var unreachable: [Route: [Key: Failure]] = [:]
    private var refused: [Key: Failure] = [:]
    private var count = 0

    package nonisolated init() {}

    /// Why the question failed, while it is not to be asked again.
    ///
    /// - Parameter recoveries: how often a provider has come back: once one has, what failed before may succeed.
    package func remembered(
        _ flight: FlightKey, _ type: RecordType, at now: Instant, recoveries: Int = 0
    ) -> ExtendedError? {
        guard count > 0 else { return nil }
        let key = Key(flight: flight, type: type)
        guard let failure = unreachable[flight.route]?[key] ?? refused[key], now < failure.until,
            failure.recoveries == recoveries
        else { return nil }
        return failure.error
    }

    /// - Parameters:
    ///   - isTransport: whether nothing was heard at all.
    ///   - recoveries: how often a provider had come back when the question was begun to be asked.
    package func failed(
        _ flight: FlightKey, _ type: RecordType, isTransport: Bool, error: ExtendedError, at now: Instant,
        recoveries: Int = 0
    ) {
        if count >= Self.capacity { forgetAll() }
        let key = Key(flight: flight, type: type)
        let earlier = unreachable[flight.route]?.removeValue(forKey: key) ?? refused.removeValue(forKey: key)
        if earlier == nil { count += 1 }
        let times = earlier.map { now - $0.until < Self.forgetAfter ? $0.count : 0 } ?? 0
        let pause = Self.pauses[min(times, Self.pauses.count - 1)]
        let failure = Failure(until: now + pause, count: times + 1, error: error, recoveries: recoveries)
        if isTransport {
            unreachable[flight.route, default: [:]][key] = failure
        } else {
            refused[key] = failure
        }
    }

    /// The network has changed: what failed there may succeed here.
    package func forgetAll() {
        unreachable = [:]
        refused = [:]
        count = 0
    }

    /// The question has an answer.
    package func answered(_ flight: FlightKey, _ type: RecordType) {
        guard count > 0 else { return }
        count -= unreachable.removeValue(forKey: flight.route)?.count ?? 0
        if refused.removeValue(forKey: Key(flight: flight, type: type)) != nil { count -= 1 }
    }
}
