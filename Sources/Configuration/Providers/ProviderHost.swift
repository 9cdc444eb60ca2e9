package import DNSWire

/// What a service's certificate names, or its URL holds: a host name or an IP address.
package enum ProviderHost: Hashable, Sendable {
    /// Lower-cased; labels of letters, digits, `-` and `_`.
    case name(Name)
    case address(IPAddress)

    /// Nil for anything that is neither an IP address nor a host name in ASCII (punycode for others).
    package init?(_ text: some StringProtocol) {
        if let address = IPAddress(text) {
            self = .address(address)
            return
        }
        guard !text.isEmpty, text.utf8.allSatisfy({ isBareKeyByte($0) || $0 == UInt8(ascii: ".") }),
            let name = try? Name(text), let last = name.labels.last,
            !last.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        self = .name(name.lowercased)
    }
}

extension ProviderHost: CustomStringConvertible {
    package var description: String {
        switch self {
        case .name(let name): name.description
        case .address(let address): address.description
        }
    }
}
