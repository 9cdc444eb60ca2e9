import DNSResolver
import Scheduling

/// How long the loop's responses took from the query, by the kind of the answer.
final class AnswerTimes: Sendable {
    private let histograms = AnswerKind.allCases.map { _ in LatencyHistogram() }

    /// Adds a response.
    func add(_ kind: AnswerKind, from arrived: Instant, to now: Instant) {
        histograms[kind.rawValue].add(from: arrived, to: now)
    }

    /// Those of one kind since the start.
    func total(_ kind: AnswerKind) -> LatencyHistogram.Total { histograms[kind.rawValue].total }
}
