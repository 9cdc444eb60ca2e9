/// The clients for which an answer is valid, when its source may receive client networks (RFC 7871).
///
/// An answer of one scope is never given to a client of another: the scope is part of the key of a cached answer, and
/// of a question under way.
package enum ClientScope: Hashable, Sendable {
    /// No source received a client network: the client has no public one, or its query forbids sending it, or there is
    /// no client.
    case undisclosed
    /// Clients in this network, which a source may have received.
    case network(AddressPrefix)

    /// The network; nil when no source received one.
    package var network: AddressPrefix? { if case .network(let network) = self { network } else { nil } }
}

extension ClientScope {
    /// Calls `body` with each byte of the scope's form in a key, which follows the name; allocates nothing.
    ///
    /// Only bytes without letter case are used, since names in keys are compared case-insensitively.
    @inline(__always)
    func forEachKeyByte(_ body: (UInt8) -> Void) {
        guard case .network(let network) = self else { return body(0) }
        let length = network.length
        let bits: UInt128
        switch network.address {
        case .v4(let value):
            body(1)
            bits = UInt128(value) &<< 96
        case .v6(let value):
            body(2)
            bits = value
        }
        body(UInt8(truncatingIfNeeded: length &>> 4))
        body(UInt8(truncatingIfNeeded: length & 15))
        var digit = 0
        while digit < (length &+ 7) / 8 &* 2 {
            body(UInt8(truncatingIfNeeded: bits &>> UInt128(124 &- 4 &* digit)) & 15)
            digit &+= 1
        }
    }

    /// The same bytes as an array, where allocation is acceptable.
    var keyBytes: [UInt8] {
        var bytes: [UInt8] = []
        forEachKeyByte { bytes.append($0) }
        return bytes
    }

    /// Parses the bytes of `keyBytes`; nil for anything else.
    package init?(keyBytes: [UInt8]) {
        if keyBytes == [0] {
            self = .undisclosed
            return
        }
        guard keyBytes.count >= 3, keyBytes.allSatisfy({ $0 < 16 }), !keyBytes.count.isMultiple(of: 2) else {
            return nil
        }
        let octets = stride(from: 1, to: keyBytes.count, by: 2).map { keyBytes[$0] << 4 | keyBytes[$0 + 1] }
        let size = keyBytes[0] == 1 ? 4 : 16
        let address = IPAddress(
            bytes: octets.dropFirst() + [UInt8](repeating: 0, count: max(0, size + 1 - octets.count)))
        guard let address, let network = AddressPrefix(address, length: Int(octets[0])),
            ClientScope.network(network).keyBytes == keyBytes
        else { return nil }
        self = .network(network)
    }
}

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
