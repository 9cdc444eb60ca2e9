import DNSWire
import Scheduling

/// The addresses that do not respond to handshakes, so that they do not delay others.
///
/// Silence costs a handshake its whole time, and a hijacker may send any number of names to a silent address. So an
/// address that has not responded yet gets few handshakes at once, and one that was silent gets none for a while,
/// whatever the name; then one, as a probe. An address that has responded in any way gets as many as there are.
struct SilentAddresses {
    /// The most addresses that are remembered; beyond it they are dropped, which costs handshakes and never an answer.
    static let capacity = 1_024
    /// Handshakes at once with an address that has not responded yet.
    static let unknownLimit = 2
    /// The first and the longest backoff of a silent address.
    static let pauses: ClosedRange<Duration> = .seconds(5)...(.seconds(60))

    /// The result of a handshake for its address.
    enum Conduct {
        case answered
        /// It took its whole time, and there was not even a TCP connection.
        case silent
        /// It was cancelled early, or the address was mute, perhaps for one name alone.
        case unknown
    }

    private struct Record {
        var underWay = 0
        var hasAnswered = false
        var backoff = Backoff(pauses)

        func isSilent(at now: Instant) -> Bool { backoff.nextProbe.map { now < $0 } ?? false }
    }

    private var records: [IPAddress: Record] = [:]

    /// Whether no handshake may begin there, since it was silent lately.
    func isSilent(_ address: IPAddress, at now: Instant) -> Bool {
        records[address]?.isSilent(at: now) ?? false
    }

    func hasAnswered(_ address: IPAddress) -> Bool { records[address]?.hasAnswered ?? false }

    /// Whether one more handshake may begin there.
    func hasRoom(_ address: IPAddress, at now: Instant) -> Bool {
        guard let record = records[address] else { return true }
        guard record.backoff.isActive else { return record.hasAnswered || record.underWay < Self.unknownLimit }
        return !record.isSilent(at: now) && record.underWay == 0
    }

    mutating func began(_ address: IPAddress, at now: Instant) {
        if records.count >= Self.capacity { makeRoom(at: now) }
        records[address, default: Record()].underWay += 1
    }

    mutating func ended(_ address: IPAddress, _ conduct: Conduct, at now: Instant) {
        guard var record = records[address] else { return }
        record.underWay = max(0, record.underWay - 1)
        switch conduct {
        case .answered:
            record.hasAnswered = true
            record.backoff.succeeded()
        // One lost packet does not make an address silent, but it no longer counts as one that has responded.
        case .silent where record.hasAnswered:
            record.hasAnswered = false
        case .silent:
            // Handshakes that were under way together count once.
            if !record.isSilent(at: now) { record.backoff.failed(at: now) }
        case .unknown:
            break
        }
        records[address] = record
    }

    /// Drops everything but what is under way: on another network an address may be another host.
    mutating func forgetAll() {
        records = records.filter { $0.value.underWay > 0 }.mapValues { Record(underWay: $0.underWay) }
    }

    /// Drops those of which nothing is known first, then those that have responded.
    private mutating func makeRoom(at now: Instant) {
        func isRetained(_ record: Record) -> Bool {
            record.underWay > 0 || record.isSilent(at: now)
        }
        records = records.filter { isRetained($0.value) || $0.value.hasAnswered }
        if records.count >= Self.capacity { records = records.filter { isRetained($0.value) } }
        if records.count >= Self.capacity { forgetAll() }
    }
}
