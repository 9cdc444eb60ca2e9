package import DNSWire

/// The client network that is sent to a provider.
package enum ClientSubnet: Hashable, Sendable, CustomStringConvertible {
    case off
    /// This many leading bits of each client's address, 1 to 32.
    case client(bits: Int)
    /// The same network for all clients.
    case fixed(AddressPrefix)

    /// As the file has it.
    package var description: String {
        switch self {
        case .off: "off"
        case .client(let bits): "client/\(bits)"
        case .fixed(let prefix): prefix.description
        }
    }
}

extension Kind where Value == ClientSubnet {
    static var clientSubnet: Kind {
        .text(
            "client subnet", range: "off, client/1 to client/32, or a network",
            expected: "\"off\", \"client/24\" or a network in quotes",
            parse: { text throws(ValueProblem) in
                if text == "off" { return .off }
                if text.hasPrefix("client/"), let bits = AddressAndPort.port(text.dropFirst(7)), (1...32).contains(bits)
                {
                    return .client(bits: Int(bits))
                }
                if text.contains("/"), let prefix = AddressPrefix(text) { return .fixed(prefix) }
                throw ValueProblem("is not \"off\", \"client/24\" or a network such as \"192.0.2.0/24\"")
            },
            write: { written($0.description) })
    }
}
