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

    /// At most two tries an address for one question (RFC 9520 section 3.1 allows three).
    private nonisolated static let tries = 2

    /// An address, and what this question has had of it.
    private struct Place {
        let candidate: Candidate
        var tries = 0
        var isUnderWay = false
        var isOver = false
    }

    private let isLastResort: Bool
    /// Whether there are addresses that it does not have, for they are left alone.
    var leavesSomeOut = false
    private var places: [Place] = []

    /// - Parameter isLastResort: whether every address there is has been set aside.
    init(isLastResort: Bool) { self.isLastResort = isLastResort }

    /// Adds a provider's addresses, behind those before.
    mutating func add(_ endpoints: [any Endpoint], of provider: Int) {
        for endpoint in endpoints {
            places.append(Place(candidate: Candidate(provider: provider, endpoint: endpoint)))
        }
    }

    var isEmpty: Bool { places.isEmpty }

    /// Takes the next address that is neither being asked already nor set aside, those not yet asked before the others;
    /// nil when there is none for now.
    mutating func next(at now: Instant) -> Candidate? {
        for round in 0..<Self.tries {
            for index in places.indices {
                let place = places[index]
                guard place.tries == round, !place.isUnderWay, !place.isOver,
                    isUsable(place.candidate.endpoint, at: now)
                else { continue }
                places[index].tries += 1
                places[index].isUnderWay = true
                return place.candidate
            }
        }
        return nil
    }

    private func isUsable(_ endpoint: any Endpoint, at now: Instant) -> Bool {
        isLastResort ? endpoint.health.isUsableAlone(at: now) : endpoint.health.isUsable(at: now)
    }

    /// The attempt at this address is over; `forGood` when the address is not to be asked again.
    mutating func ended(_ candidate: Candidate, forGood: Bool) {
        for index in places.indices where places[index].candidate.endpoint === candidate.endpoint {
            places[index].isUnderWay = false
            if forGood { places[index].isOver = true }
        }
    }

    /// Nothing more is to be asked of this provider.
    mutating func finish(provider: Int) {
        for index in places.indices where places[index].candidate.provider == provider { places[index].isOver = true }
    }
}
