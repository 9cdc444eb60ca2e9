import Scheduling

/// An address of a provider that may be asked for a question.
@Loop
struct Candidate {
    /// The index of the provider, from 0.
    let index: Int
    let provider: any Provider
    let endpoint: any Endpoint

    nonisolated init(index: Int, provider: any Provider, endpoint: any Endpoint) {
        self.index = index
        self.provider = provider
        self.endpoint = endpoint
    }

    /// For operators.
    var text: String { "\(provider.name) at \(endpoint.name)" }

    /// Whether neither the address nor the provider's account is in backoff.
    var isUsable: Bool { endpoint.health.isUsable && !provider.access.isActive && provider.unavailability == nil }

    /// Whether a successful probe would make it usable.
    var isInBackoff: Bool {
        (!endpoint.health.isUsable || provider.access.isActive) && provider.unavailability == nil
    }

    /// The backoff because of which it cannot be asked: the address's, else the account's.
    var backoff: Backoff { endpoint.health.isUsable ? provider.access : endpoint.health.backoff }
}
