package import DNSWire
package import Scheduling

/// What an upstream is asked.
package struct UpstreamQuestion: Hashable, Sendable {
    /// Lower-cased.
    package var name: Name
    /// One type, or A and AAAA together.
    package var types: [RecordType]
    package var dnssecOK: Bool
    package var checkingDisabled: Bool
    /// The network of the clients for whom it is asked, which a service may be told; nil: none.
    package var clientNetwork: AddressPrefix?
    /// The client network in whose share of what is bounded it is.
    package var holder: ClientNetwork
    /// When the asker stops waiting.
    package var deadline: Instant

    package init(
        name: Name, types: [RecordType], dnssecOK: Bool = false, checkingDisabled: Bool = false,
        clientNetwork: AddressPrefix? = nil, holder: ClientNetwork = .daemon, deadline: Instant
    ) {
        self.holder = holder
        self.name = name
        self.types = types
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
        self.clientNetwork = clientNetwork
        self.deadline = deadline
    }
}

extension UpstreamQuestion {
    /// What a flight asks for some of its types.
    init(_ key: FlightKey, _ types: [RecordType], until deadline: Instant) {
        self.init(
            name: key.name, types: types, dnssecOK: key.dnssecOK, checkingDisabled: key.checkingDisabled,
            clientNetwork: key.scope?.network, holder: key.holder, deadline: deadline)
    }
}
