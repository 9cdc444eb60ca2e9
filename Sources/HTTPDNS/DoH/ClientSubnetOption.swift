import DNSWire

/// The client-subnet option of an OPT record (RFC 7871 section 6).
struct ClientSubnetOption {
    let network: AddressPrefix

    init(_ network: AddressPrefix) { self.network = network }

    /// FAMILY, SOURCE PREFIX-LENGTH, SCOPE PREFIX-LENGTH 0, and the bytes of ADDRESS that the prefix covers.
    var option: EDNSOption {
        EDNSOption(code: .clientSubnet, data: head + [0] + addressBytes)
    }

    /// FAMILY (IANA's address family numbers) and SOURCE PREFIX-LENGTH.
    private var head: [UInt8] {
        [0, network.address.recordType == .a ? 1 : 2, UInt8(truncatingIfNeeded: network.length)]
    }

    private var addressBytes: ArraySlice<UInt8> { network.address.bytes.prefix((network.length + 7) / 8) }

    /// Whether a response belongs to a query with this network: one with another network must not be used (RFC 7871
    /// section 7.3); one without the option is valid for all networks.
    static func isReply(_ edns: EDNS?, to network: AddressPrefix?) -> Bool {
        guard let network, let data = edns?.options.first(where: { $0.code == .clientSubnet })?.data else {
            return true
        }
        let sent = ClientSubnetOption(network)
        return data.count >= 4 && data.prefix(3).elementsEqual(sent.head)
            && data.dropFirst(4).elementsEqual(sent.addressBytes)
    }
}
