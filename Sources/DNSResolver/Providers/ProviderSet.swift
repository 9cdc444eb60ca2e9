package import DNSWire
package import Scheduling

/// The HTTPDNS providers of a policy: which of them may be asked for a name, in order.
@Loop
package final class ProviderSet {
    package nonisolated let all: [any Provider]
    /// The index of each: mostly all of them may be asked, and then no list is made for a question.
    private nonisolated let everyone: [Int]
    /// The most of clients' addresses that is sent to a provider; nil while none is sent any of them.
    package nonisolated let clientScoping: ClientScoping?
    /// Removes addresses that no answer for a protected name may hold.
    nonisolated let filter: AddressFilter
    let probes: Probes

    /// - Parameter probes: those of the providers: a set that takes the place of another one goes on with its probes.
    package nonisolated init(providers: [any Provider], filter: AddressFilter = AddressFilter(), probes: Probes) {
        self.filter = filter
        all = providers
        everyone = Array(providers.indices)
        clientScoping = providers.compactMap(\.clientScoping).max { $0.bits < $1.bits }
        self.probes = probes
    }

    /// The providers that may be asked, best first: for DS those of the parent, which has it.
    ///
    /// With DO or CD those that carry any type come first: the others cannot return signatures.
    package nonisolated func eligible(
        for name: Name, type: RecordType, signed: Bool, authenticatedOnly: Bool = false
    ) -> [Int] {
        var able = everyone
        let name = name.holder(of: type)
        for index in everyone {
            let provider = all[index]
            guard provider.answers(type), provider.isAuthenticated || !authenticatedOnly, provider.serves(name) else {
                able.removeAll { $0 == index }
                continue
            }
        }
        guard signed else { return able }
        return able.filter { all[$0].answers(.rrsig) } + able.filter { !all[$0].answers(.rrsig) }
    }

    /// Whether a provider of this name is sent clients' networks, whatever type is asked for.
    nonisolated func tellsNetworks(for name: Name) -> Bool {
        all.contains { $0.clientScoping != nil && $0.serves(name) }
    }

    /// Whether no address of these providers can be asked, and the next question begins a probe.
    func isProbeDue(_ indices: [Int]) -> Bool {
        var isDue = false
        for index in indices where all[index].unavailability == nil {
            for endpoint in all[index].endpoints {
                let candidate = Candidate(index: index, provider: all[index], endpoint: endpoint)
                if candidate.isUsable { return false }
                if candidate.backoff.isDue(at: probes.clock.now, isUrgent: true) { isDue = true }
            }
        }
        return isDue
    }

    /// The reason why none of these could be asked.
    func reasonAgainst(_ indices: [Int]) -> String {
        for index in indices {
            if let reason = all[index].unavailability { return "\(all[index].name): \(reason)" }
        }
        return "every address is in backoff after failures"
    }

    /// Whether a request waits for a free slot at its service.
    var isBacklogged: Bool {
        for provider in all where provider.waitingRequests > 0 { return true }
        return false
    }
}
