package import DNSWire

/// The names by which this machine may be asked over plain HTTP: none that a site on the Internet can make point here, so that
/// its page can read nothing through a user's browser (DNS rebinding).
///
/// Every address passes, and not those of this machine alone: a browser sends one as `Host` only to the address itself, and
/// what a page of that address may read is its own; and behind a published port of a container, NAT or a load balancer the
/// address that clients ask is none of this machine's interfaces.
package struct HTTPHosts: Sendable {
    private let names: Set<String>

    /// - Parameters:
    ///   - machine: this machine's own name, short or full. Search domains make no full name of it: they are the network's
    ///     choice, and one that is hostile would choose its own domain.
    ///   - names: further ones.
    package init(machine: String, names: [Name] = []) {
        let machine = Self.normal(machine[...])
        let all = ["localhost", machine, String(machine.prefix { $0 != "." })]
        self.names = Set(all + names.map { Self.normal($0.description[...]) }).subtracting([""])
    }

    /// Whether a request may be answered.
    ///
    /// - Parameter host: the value of `Host`; nil: there is none, as no browser sends a request.
    package func allow(_ host: String?) -> Bool {
        guard let host else { return true }
        // All of it is looked at (RFC 9110 section 7.2), and not what comes before the first colon or bracket.
        guard let name = Self.withoutPort(host[...]) else { return false }
        if name.hasPrefix("[") {
            guard name.hasSuffix("]"), case .v6? = IPAddress(String(name.dropFirst().dropLast())) else { return false }
            return true
        }
        if case .v4? = IPAddress(String(name)) { return true }
        return names.contains(Self.normal(name))
    }

    /// The port by which a client asks.
    ///
    /// - Parameter host: the value of `Host`; nil: there is none.
    /// - Returns: nil where there is none, and of a value that is none.
    package static func port(of host: String?) -> UInt16? {
        guard let host, let name = withoutPort(host[...]) else { return nil }
        return UInt16(host[name.endIndex...].dropFirst())
    }

    /// Nil for what has something else than digits behind its last colon, outside of brackets.
    private static func withoutPort(_ host: Substring) -> Substring? {
        guard let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") else { return host }
        let port = host[colon...].dropFirst()
        return port.utf8.allSatisfy { (0x30...0x39).contains($0) } ? host[..<colon] : nil
    }

    /// In lower case, and without the dot that ends a full name.
    private static func normal(_ name: Substring) -> String {
        let name = name.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }
}

extension HTTPServerRequest {
    /// Whether a page of another site sends it, as its browser says.
    package var isOfAnotherSite: Bool {
        fields[.origin] != nil || !["same-origin", "none", nil].contains(fields[.site])
    }
}
