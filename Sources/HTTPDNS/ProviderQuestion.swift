package import DNSWire

/// A query to a service: one name, one or more types.
package struct ProviderQuestion: Hashable, Sendable {
    /// Lower-cased.
    package var name: Name
    /// A alone, AAAA alone, both for a service that answers both families, or one other type.
    package var types: [RecordType]
    package var dnssecOK: Bool
    package var checkingDisabled: Bool
    /// The client network sent to the service; nil: none.
    package var clientSubnet: AddressPrefix?

    package init(
        name: Name, types: [RecordType], dnssecOK: Bool = false, checkingDisabled: Bool = false,
        clientSubnet: AddressPrefix? = nil
    ) {
        self.name = name
        self.types = types
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
        self.clientSubnet = clientSubnet
    }
}
