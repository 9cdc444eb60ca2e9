/// The prefix lengths of client networks that are sent to services.
package struct ClientScoping: Hashable, Sendable {
    /// Prefix length for IPv4, 1 to 32.
    package let bits: Int

    /// - Parameter bits: 1 to 32.
    package init(bits: Int) { self.bits = min(max(bits, 1), 32) }

    /// Prefix length for IPv6: the length of about the same precision. 24 and 56 are the lengths that RFC 7871 section
    /// 11.1 recommends, and more than 56 bits are never sent.
    package var bits6: Int { min(bits + 32, 56) }

    /// The network of a client; nil for an address that is not globally routed, and so is not sent to any service.
    package func network(of client: IPAddress) -> AddressPrefix? {
        guard client.isRouted else { return nil }
        return AddressPrefix(client, length: client.recordType == .a ? bits : bits6)
    }

    /// The scope of a client.
    ///
    /// - Parameter hidesNetwork: whether its query forbids sending its network.
    package func scope(of client: IPAddress, hidesNetwork: Bool) -> ClientScope {
        if hidesNetwork { return .undisclosed }
        return network(of: client).map { .network($0) } ?? .undisclosed
    }
}
