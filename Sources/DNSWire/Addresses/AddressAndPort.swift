/// An IP address and a port, with the zone of a link-local IPv6 address where one is written.
public struct AddressAndPort: Hashable, Sendable {
    public var address: IPAddress
    /// For a listening address 0 means any free port.
    public var port: UInt16
    /// An interface name such as `eth0`, at most 15 bytes; only ever set with an IPv6 address.
    public var zone: String?

    public init(_ address: IPAddress, port: UInt16, zone: String? = nil) {
        self.address = address
        self.port = port
        self.zone = zone
    }

    /// Reads `192.0.2.1:53`, `[2001:db8::1]:53`, `[fe80::1%eth0]:53`, and, when there is a default port, the same without a
    /// port (an IPv6 address then with or without brackets). Nil for anything else: names, ports out of 0 to 65535, zones
    /// of IPv4 addresses.
    public init?(_ text: some StringProtocol, defaultPort: UInt16? = nil) {
        guard let (host, written) = try? Self.split(Substring(text)),
            let port = written == nil ? defaultPort : written.flatMap({ Self.port($0) }),
            let (address, zone) = Self.address(host)
        else { return nil }
        self.init(address, port: port, zone: zone)
    }

    /// Why a text has no host, as the end of a sentence about it.
    public enum Fault: String, Error {
        case isOpen = "has a [ without its ]"
        case isNoIPv6 = "has something else than IPv6 in brackets"
        case isFollowed = "has text between ] and the path"
    }

    /// Host and port of `host`, `host:port`, `[IPv6]` and `[IPv6]:port`. Where several colons stand outside of brackets, none
    /// begins a port.
    public static func split(_ text: Substring) throws(Fault) -> (host: Substring, port: Substring?) {
        guard text.hasPrefix("[") else {
            guard let colon = text.firstIndex(of: ":"), text.lastIndex(of: ":") == colon else { return (text, nil) }
            return (text[..<colon], text[text.index(after: colon)...])
        }
        guard let close = text.firstIndex(of: "]") else { throw .isOpen }
        let host = text[text.index(after: text.startIndex)..<close]
        guard host.contains(":") else { throw .isNoIPv6 }
        let rest = text[text.index(after: close)...]
        guard rest.isEmpty || rest.hasPrefix(":") else { throw .isFollowed }
        return (host, rest.isEmpty ? nil : rest.dropFirst())
    }

    /// Decimal digits only, 0 to 65535.
    public static func port(_ text: some StringProtocol) -> UInt16? {
        OutsideNumber(digits: text)?.within(0...UInt16.max)
    }

    private static func address(_ text: Substring) -> (IPAddress, String?)? {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(parts[0]) else { return nil }
        guard parts.count == 2 else { return (address, nil) }
        guard address.recordType == .aaaa, isZone(parts[1]) else { return nil }
        return (address, String(parts[1]))
    }

    /// What Linux accepts as an interface name: 1 to 15 printable bytes without a slash, colon, bracket or per cent sign.
    private static func isZone(_ text: Substring) -> Bool {
        (1...15).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7e).contains($0) && !"/:[]%".utf8.contains($0) }
    }

    /// Whether not both can be bound: they are equal, or of one port, and one is the wildcard of the other's family. Port 0 is
    /// another one each time.
    public func overlaps(_ other: AddressAndPort) -> Bool {
        guard port == other.port, port != 0, address.recordType == other.address.recordType else { return false }
        return self == other || address.isWildcard || other.address.isWildcard
    }

    /// Whether a socket bound to this receives what is sent to `other`: equal, or this is a wildcard and `other`
    /// is a loopback address of the same port.
    public func receives(_ other: AddressAndPort) -> Bool {
        guard port == other.port else { return false }
        if address == other.address { return zone == other.zone }
        switch address {
        case .v4(0): return other.address.recordType == .a && other.address.isLoopback
        case .v6(0): return other.address.recordType == .aaaa && other.address.isLoopback
        default: return false
        }
    }
}

extension AddressAndPort: CustomStringConvertible {
    /// `192.0.2.1:53` or `[2001:db8::1]:53`.
    public var description: String {
        switch address {
        case .v4: "\(address):\(port)"
        case .v6: "[\(address)\(zone.map { "%" + $0 } ?? "")]:\(port)"
        }
    }
}

/// Where a server takes streams, such as a collector of dnstap: a Unix socket, or an address.
public enum StreamPlace: Hashable, Sendable, CustomStringConvertible {
    /// Absolute, at most 107 bytes.
    case unix(String)
    case tcp(AddressAndPort)

    /// Reads `unix:/run/dnstap.sock` or `tcp:127.0.0.1:6000`. Returns nil for anything else.
    public init?(_ text: String) {
        if text.hasPrefix("unix:/"), text.utf8.count <= 5 + 107 {
            self = .unix(String(text.dropFirst(5)))
        } else if text.hasPrefix("tcp:"), let address = AddressAndPort(text.dropFirst(4)), address.port != 0 {
            self = .tcp(address)
        } else {
            return nil
        }
    }

    public var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .tcp(let address): "tcp:\(address)"
        }
    }
}
