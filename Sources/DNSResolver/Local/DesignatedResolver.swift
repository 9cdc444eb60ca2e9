package import DNSWire

/// How this server is reached encrypted, for clients that have its address alone: the answer to SVCB questions for
/// `_dns.resolver.arpa` (RFC 9462 section 4, RFC 9461).
///
/// A client uses it only after the certificate there was verified for the address that it knows.
package struct DesignatedResolver: Sendable {
    /// Numbers of SvcParams (RFC 9460 section 14.3.2, RFC 9461 section 5).
    private enum Key {
        static let alpn: UInt16 = 1
        static let port: UInt16 = 3
        static let ipv4Hint: UInt16 = 4
        static let ipv6Hint: UInt16 = 6
        static let path: UInt16 = 7
    }

    /// The usual ports: only others are named.
    private static let ports: (tls: UInt16, https: UInt16) = (853, 443)
    /// Hints of one family; more would only make the answer longer.
    private static let mostHints = 4

    private static let owner = (try? Name("_dns.resolver.arpa")) ?? .root

    /// A name of the certificate, never the root: it would stand for the owner's own name, which has no addresses.
    private let name: Name
    private let addresses: [IPAddress]
    /// The port of DNS over TLS; nil: there is none.
    private let tls: UInt16?
    /// Port and path of DNS over HTTPS; nil: there is none.
    private let https: (port: UInt16, path: String)?

    /// Nil without an encrypted listener.
    package init?(name: Name, addresses: [IPAddress], tls: UInt16?, https: (port: UInt16, path: String)?) {
        guard tls != nil || https != nil, !name.isRoot else { return nil }
        (self.name, self.addresses, self.tls, self.https) = (name, addresses, tls, https)
    }

    /// DNS over HTTPS first: it passes where port 853 is closed.
    ///
    /// - Parameter ttl: in seconds.
    package func records(ttl: UInt32) -> [Record] {
        var bindings: [[UInt8]] = []
        if let https {
            let template = Array("\(https.path){?dns}".utf8)
            bindings.append(
                parameters("h2", https.port, usual: Self.ports.https) + Self.parameter(Key.path, template))
        }
        if let tls { bindings.append(parameters("dot", tls, usual: Self.ports.tls)) }
        return bindings.enumerated().map { index, parameters in
            let priority = [0, UInt8(truncatingIfNeeded: index + 1)]
            return Record(name: Self.owner, type: .svcb, ttl: ttl, rdata: priority + name.wire + parameters)
        }
    }

    /// In the order of their keys (RFC 9460 section 2.2).
    private func parameters(_ protocolID: String, _ port: UInt16, usual: UInt16) -> [UInt8] {
        var bytes = Self.parameter(Key.alpn, [UInt8(truncatingIfNeeded: protocolID.utf8.count)] + protocolID.utf8)
        if port != usual { bytes += Self.parameter(Key.port, Self.bytes(port)) }
        for (key, type) in [(Key.ipv4Hint, RecordType.a), (Key.ipv6Hint, .aaaa)] {
            let hints = addresses.filter { $0.recordType == type }.prefix(Self.mostHints)
            if !hints.isEmpty { bytes += Self.parameter(key, hints.flatMap(\.bytes)) }
        }
        return bytes
    }

    /// - Parameter value: at most 65,535 bytes.
    private static func parameter(_ key: UInt16, _ value: [UInt8]) -> [UInt8] {
        bytes(key) + bytes(UInt16(truncatingIfNeeded: value.count)) + value
    }

    private static func bytes(_ number: UInt16) -> [UInt8] {
        [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
    }
}
