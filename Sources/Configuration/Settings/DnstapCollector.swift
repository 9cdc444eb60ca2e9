/// Where a collector of dnstap listens.
package enum DnstapCollector: Hashable, Sendable, CustomStringConvertible {
    /// Absolute, at most 107 bytes.
    case unix(String)
    case tcp(AddressAndPort)

    /// Reads `unix:/run/dnstap.sock` or `tcp:127.0.0.1:6000`.
    ///
    /// - Returns: nil for anything else.
    init?(_ text: String) {
        if text.hasPrefix("unix:/"), text.utf8.count <= 5 + 107 {
            self = .unix(String(text.dropFirst(5)))
        } else if text.hasPrefix("tcp:"), let address = AddressAndPort(text.dropFirst(4)), address.port != 0 {
            self = .tcp(address)
        } else {
            return nil
        }
    }

    package var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .tcp(let address): "tcp:\(address)"
        }
    }
}

extension Kind where Value == DnstapCollector {
    static var dnstap: Kind {
        .text(
            "unix:PATH or tcp:ADDRESS:PORT",
            expected: "a collector in quotes such as \"unix:/run/dnstap/collector.sock\"",
            problem:
                "is not a collector; write one such as \"unix:/run/dnstap/collector.sock\" (at most 107 bytes behind unix:) or \"tcp:127.0.0.1:6000\"",
            value: { DnstapCollector($0) })
    }
}
