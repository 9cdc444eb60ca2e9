import DNSWire
import Scheduling

/// Which address is asked next for one question: providers in order, each one's addresses in order, everything twice.
///
/// Pure bookkeeping of one question; the selector starts the attempts.
@Loop
struct AttemptPlan {
    struct Candidate {
        let provider: Int
        let endpoint: any Endpoint
    }

    private let isLastResort: Bool
    private var waiting: [Candidate]
    private var underWay: Set<ObjectIdentifier> = []
    private var finished: Set<Int> = []

    /// At most two tries an address for one question (RFC 9520 section 3.1 allows three).
    ///
    /// - Parameter isLastResort: whether every address there is has been set aside.
    init(_ providers: [(index: Int, endpoints: [any Endpoint])], isLastResort: Bool) {
        self.isLastResort = isLastResort
        let round = providers.flatMap { provider in
            provider.endpoints.map { Candidate(provider: provider.index, endpoint: $0) }
        }
        waiting = round + round
    }

    /// Takes the next address that is neither being asked already nor set aside; nil when there is none for now.
    mutating func next(at now: Instant) -> Candidate? {
        let position = waiting.firstIndex {
            !finished.contains($0.provider) && !underWay.contains(ObjectIdentifier($0.endpoint))
                && isUsable($0.endpoint, at: now)
        }
        guard let position else { return nil }
        let candidate = waiting.remove(at: position)
        underWay.insert(ObjectIdentifier(candidate.endpoint))
        return candidate
    }

    private func isUsable(_ endpoint: any Endpoint, at now: Instant) -> Bool {
        isLastResort ? endpoint.health.isUsableAlone(at: now) : endpoint.health.isUsable(at: now)
    }

    /// The attempt at this address is over; `forGood` when the address is not to be asked again.
    mutating func ended(_ candidate: Candidate, forGood: Bool) {
        underWay.remove(ObjectIdentifier(candidate.endpoint))
        if forGood { waiting.removeAll { $0.endpoint === candidate.endpoint } }
    }

    /// Nothing more is to be asked of this provider.
    mutating func finish(provider: Int) { finished.insert(provider) }
}
