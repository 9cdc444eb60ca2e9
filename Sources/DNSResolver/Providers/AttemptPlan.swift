import Scheduling

/// The order of addresses for one question: providers in order, each one's addresses in order.
///
/// Once time has passed the providers are asked by turns, so that the addresses of one that is silent never use up the
/// time of the next. Only the bookkeeping of one question; `ProviderAttempts` starts the attempts.
@Loop
struct AttemptPlan {
    struct Candidate {
        let index: Int
        let provider: any Provider
        let endpoint: any Endpoint
    }

    /// At most two attempts per address for one question (RFC 9520 section 3.1 allows three).
    private nonisolated static let tries = 2

    /// An address, and this question's attempts at it.
    private struct Place {
        let candidate: Candidate
        var tries = 0
        var isUnderWay = false
        var isOver = false

        /// Whether it may be asked now, or after a probe.
        var isOpen: Bool { !isOver && !isUnderWay && tries < AttemptPlan.tries }
    }

    /// Provider by provider, in order.
    private var places: [Place] = []
    /// Whether some of them were in backoff when they were added.
    private(set) var hasBackoffs = false

    /// Adds a provider's addresses, behind those before.
    mutating func add(_ endpoints: [any Endpoint], of provider: any Provider, index: Int) {
        if provider.access.isActive { hasBackoffs = true }
        for endpoint in endpoints {
            if !endpoint.health.isUsable { hasBackoffs = true }
            places.append(Place(candidate: Candidate(index: index, provider: provider, endpoint: endpoint)))
        }
    }

    /// Takes the next address that can be asked, the one asked least, the first of these in order; nil when there is
    /// none now.
    ///
    /// - Parameters:
    ///   - byTurns: whether a provider that was asked less goes before one that was asked more.
    ///   - isSparing: whether providers that are spared as hedges are left out.
    mutating func next(byTurns: Bool, isSparing: Bool) -> Candidate? {
        var best: (place: Int, provider: Int, own: Int)?
        for index in places.indices where places[index].isOpen {
            guard places[index].candidate.isUsable, !isSparing || mayHedge(places[index].candidate) else { continue }
            let asked = byTurns ? tries(of: places[index].candidate.index) : 0
            let own = places[index].tries
            if let best, (best.provider, best.own) <= (asked, own) { continue }
            best = (index, asked, own)
            // Mostly the first one: none can be better.
            if asked == 0, own == 0 { break }
        }
        guard let best else { return nil }
        places[best.place].tries += 1
        places[best.place].isUnderWay = true
        return places[best.place].candidate
    }

    /// Whether some provider that can be asked has not been.
    ///
    /// - Parameter isSparing: whether those that are spared as hedges are left out.
    func hasUnaskedProvider(isSparing: Bool) -> Bool {
        for place in places where place.candidate.isUsable && (place.candidate.provider.mayHedge || !isSparing) {
            if tries(of: place.candidate.index) == 0 { return true }
        }
        return false
    }

    /// A second address of a provider under way may always be asked: it is the same service, at the same price.
    private func mayHedge(_ candidate: Candidate) -> Bool {
        candidate.provider.mayHedge || tries(of: candidate.index) > 0
    }

    private func tries(of provider: Int) -> Int {
        var count = 0
        for place in places where place.candidate.index == provider { count += place.tries }
        return count
    }

    /// The addresses that could be asked after a successful probe.
    var inBackoff: [Candidate] {
        var found: [Candidate] = []
        for place in places where place.isOpen && place.candidate.isInBackoff { found.append(place.candidate) }
        return found
    }

    /// Ends the attempt at this address; `permanently`: it is not asked again in this flight.
    mutating func ended(_ candidate: Candidate, permanently: Bool) {
        for index in places.indices where places[index].candidate.endpoint === candidate.endpoint {
            places[index].isUnderWay = false
            if permanently { places[index].isOver = true }
        }
    }

    /// Ends all further attempts at this provider.
    mutating func finish(provider: Int) {
        for index in places.indices where places[index].candidate.index == provider { places[index].isOver = true }
    }
}

extension AttemptPlan.Candidate {
    /// Whether neither the address nor the provider's account is in backoff.
    @Loop
    var isUsable: Bool { endpoint.health.isUsable && !provider.access.isActive && provider.unavailability == nil }

    /// Whether a successful probe would make it usable.
    @Loop
    var isInBackoff: Bool {
        (!endpoint.health.isUsable || provider.access.isActive) && provider.unavailability == nil
    }

    /// The backoff because of which it cannot be asked: the address's, else the account's.
    @Loop
    var backoff: Backoff { endpoint.health.isUsable ? provider.access : endpoint.health.backoff }
}
