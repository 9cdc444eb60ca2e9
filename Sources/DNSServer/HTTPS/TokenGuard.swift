package import DNSWire
package import Scheduling

/// Decides about the tokens that clients send, and brakes those that guess.
///
/// A client network has `guesses` wrong tokens a minute. From the next one on it has to wait until the minute is over,
/// with a right token too, for else guessing would only be slower; but not a network that has sent a right one before: it
/// may share its address with whatever guesses.
@Loop
package final class TokenGuard {
    /// What is answered.
    package enum Decision: Equatable {
        case allowed
        case wrong
        /// Too many were wrong.
        case braked
    }

    /// Wrong tokens that a network may send in an interval.
    nonisolated static let guesses = 10
    package nonisolated static let interval: Duration = .seconds(60)
    /// Networks that are remembered; beyond that all are forgotten, since a guess has no hope in any case.
    private nonisolated static let capacity = 4_096

    private struct Record {
        var wrong = 0
        var since: Instant
        var isKnown = false
    }

    private var records: [ClientNetwork: Record] = [:]
    /// The number of networks that are remembered.
    var networks: Int { records.count }
    /// Wrong tokens since the start.
    package private(set) var wrong = 0

    package nonisolated init() {}

    /// Decides about a token.
    package func decide(_ isRight: Bool, from network: ClientNetwork, now: Instant) -> Decision {
        var record = records[network] ?? Record(since: now)
        if now - record.since >= Self.interval { (record.wrong, record.since) = (0, now) }
        let isBraked = record.wrong >= Self.guesses
        if isRight { record.isKnown = record.isKnown || !isBraked } else { record.wrong += 1 }
        if !isRight { wrong += 1 }
        if records[network] == nil, records.count >= Self.capacity { records = [:] }
        records[network] = record
        if isRight { return record.isKnown ? .allowed : .braked }
        return isBraked ? .braked : .wrong
    }
}
