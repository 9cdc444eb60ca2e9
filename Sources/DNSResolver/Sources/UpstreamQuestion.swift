package import DNSWire
package import Scheduling

/// A question to an upstream.
package struct UpstreamQuestion: Hashable, Sendable {
    /// Lower-cased.
    package var name: Name
    /// One type, or A and AAAA together.
    package var types: [RecordType]
    package var dnssecOK: Bool
    package var checkingDisabled: Bool
    /// The network of the clients for which it is asked, which may be sent to a service; nil: none.
    package var clientNetwork: AddressPrefix?
    /// The client network whose fair share it counts against.
    package var holder: ClientNetwork
    /// When the caller stops waiting.
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
    /// The question of a flight for some of its types.
    init(_ key: FlightKey, _ types: [RecordType], until deadline: Instant) {
        self.init(
            name: key.name, types: types, dnssecOK: key.dnssecOK, checkingDisabled: key.checkingDisabled,
            clientNetwork: key.scope?.network, holder: key.holder, deadline: deadline)
    }
}
