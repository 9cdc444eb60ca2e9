package import DNSWire
package import Scheduling

/// Questions that no source could answer lately: they are not asked again for 1, 2, then 5 s (RFC 9520 section 3.2).
///
/// Cleared by the first success of any upstream. At most `capacity` questions; beyond it the memory starts anew, which
/// costs attempts and never an answer.
@Loop
package final class FailureMemory {
    private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(5)]
    private static let capacity = 10_000

    private struct Failure {
        var until: Instant
        var count: Int
        var error: ExtendedError
    }

    private struct Key: Hashable {
        var flight: FlightKey
        var type: RecordType
    }

    private var failures: [Key: Failure] = [:]

    package nonisolated init() {}

    /// Why the question failed, while it is not to be asked again.
    package func remembered(_ flight: FlightKey, _ type: RecordType, at now: Instant) -> ExtendedError? {
        guard let failure = failures[Key(flight: flight, type: type)], now < failure.until else { return nil }
        return failure.error
    }

    package func failed(_ flight: FlightKey, _ type: RecordType, error: ExtendedError, at now: Instant) {
        let key = Key(flight: flight, type: type)
        if failures.count >= Self.capacity, failures[key] == nil { failures.removeAll() }
        let count = failures[key]?.count ?? 0
        let pause = Self.pauses[min(count, Self.pauses.count - 1)]
        failures[key] = Failure(until: now + pause, count: count + 1, error: error)
    }

    /// An upstream answers again: every question may be asked at once.
    package func clear() {
        if !failures.isEmpty { failures.removeAll() }
    }
}
