/// For which clients an answer holds whose source may be told who asks (RFC 7871).
///
/// An answer of one scope is never given to a client of another: the scope is part of what an answer, and a question under
/// way, is found by.
package enum ClientScope: Hashable, Sendable {
    /// No source was told a client's network: the client has none that means anything elsewhere, or wants it kept back,
    /// or there is no client.
    case untold
    /// Clients in this network, which a source may have been told.
    case network(AddressPrefix)

    /// The network; nil when none was told.
    package var network: AddressPrefix? { if case .network(let network) = self { network } else { nil } }
}

extension ClientScope {
    /// Gives the bytes that stand for it in a key, behind the name, one after the other; allocates nothing.
    ///
    /// Only bytes that have no letter case, for names in keys are compared without.
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

    /// The same bytes as an array, for those who may allocate.
    var keyBytes: [UInt8] {
        var bytes: [UInt8] = []
        forEachKeyByte { bytes.append($0) }
        return bytes
    }

    /// Reads what `keyBytes` wrote; nil for anything else.
    package init?(keyBytes: [UInt8]) {
        if keyBytes == [0] {
            self = .untold
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

extension IPAddress {
    /// Whether others can know where it is: not loopback, private, shared, link-local or multicast.
    package var isRouted: Bool {
        switch self {
        case .v4(let value):
            switch value >> 24 {
            case 0, 10, 127, 224...: false
            case 100: value >> 22 != 0x6440_0000 >> 22
            case 169: value >> 16 != 0xa9fe
            case 172: value >> 20 != 0xac1
            case 192: value >> 16 != 0xc0a8
            default: true
            }
        case .v6(let value):
            // Of what is in use, only 2000::/3 is routed (RFC 4291 section 2.4); NAT64's prefix (RFC 6052) stands for others.
            value >> 125 == 1
        }
    }
}
