/// How much of a client's address makes its network, where services are told it.
package struct ClientScoping: Hashable, Sendable {
    /// Leading bits of an IPv4 address, 1 to 32.
    package let bits: Int

    /// - Parameter bits: 1 to 32.
    package init(bits: Int) { self.bits = min(max(bits, 1), 32) }

    /// Leading bits of an IPv6 address: as many as name about as much. 24 and 56 are what RFC 7871 section 11.1 names as
    /// enough, and more than 56 are never told.
    package var bits6: Int { min(bits + 32, 56) }

    /// The network of a client; nil for an address that means nothing outside its own network, and so is told nobody.
    package func network(of client: IPAddress) -> AddressPrefix? {
        guard client.isRouted else { return nil }
        return AddressPrefix(client, length: client.recordType == .a ? bits : bits6)
    }

    /// The scope of a client.
    ///
    /// - Parameter hidesNetwork: whether its query forbids to tell its network.
    package func scope(of client: IPAddress, hidesNetwork: Bool) -> ClientScope {
        if hidesNetwork { return .untold }
        return network(of: client).map { .network($0) } ?? .untold
    }
}
