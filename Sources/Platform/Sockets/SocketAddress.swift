public import CSystem.Linux
public import DNSWire
import Glibc

/// An IPv4 or IPv6 address with a port: a value of 24 bytes, equal and hashed by all fields.
public struct SocketAddress: Hashable, Sendable {
    public enum Family: UInt8, Sendable {
        case ipv4 = 4
        case ipv6 = 6
    }

    public let family: Family
    public var port: UInt16
    /// The interface index of an IPv6 link-local address, else 0.
    public let scope: UInt32
    /// The first eight bytes of an IPv6 address, big-endian; 0 for IPv4.
    public let high: UInt64
    /// The last eight bytes of an IPv6 address, or the IPv4 address, big-endian.
    public let low: UInt64

    public init(ipv4 address: UInt32, port: UInt16) {
        family = .ipv4
        self.port = port
        scope = 0
        high = 0
        low = UInt64(address)
    }

    public init(ipv6 high: UInt64, _ low: UInt64, port: UInt16, scope: UInt32 = 0) {
        family = .ipv6
        self.port = port
        self.scope = scope
        self.high = high
        self.low = low
    }

    /// Converts a C address; `nil` unless it is a complete IPv4 or IPv6 one.
    public init?(_ pointer: UnsafePointer<sockaddr>, length: socklen_t) {
        let raw = unsafe UnsafeRawPointer(pointer)
        guard length >= MemoryLayout<sockaddr_in>.size else { return nil }
        switch unsafe Int32(raw.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET:
            let address = unsafe raw.loadUnaligned(as: sockaddr_in.self)
            self.init(ipv4: UInt32(bigEndian: address.sin_addr.s_addr), port: UInt16(bigEndian: address.sin_port))
        case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
            let address = unsafe raw.loadUnaligned(as: sockaddr_in6.self)
            let words = unsafe withUnsafeBytes(of: address.sin6_addr) {
                unsafe ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
            self.init(
                ipv6: UInt64(bigEndian: words.0), UInt64(bigEndian: words.1),
                port: UInt16(bigEndian: address.sin6_port),
                scope: address.sin6_scope_id)
        default: return nil
        }
    }

    /// The same of one in room for the longer of both.
    public init?(_ storage: sockaddr_in6, length: socklen_t) {
        let address = unsafe withUnsafePointer(to: storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe SocketAddress($0, length: length)
            }
        }
        guard let address else { return nil }
        self = address
    }

    /// Whether this is 0.0.0.0 or ::, which stands for every address of the machine.
    public var isWildcard: Bool { high == 0 && low == 0 }

    /// Calls `body` with the address as a C `sockaddr`, valid during the call.
    public func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result) rethrows -> Result {
        switch family {
        case .ipv4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(truncatingIfNeeded: low).bigEndian
            return unsafe try Self.lend(address, body)
        case .ipv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_scope_id = scope
            unsafe withUnsafeMutableBytes(of: &address.sin6_addr) {
                unsafe $0.storeBytes(of: high.bigEndian, as: UInt64.self)
                unsafe $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            return unsafe try Self.lend(address, body)
        }
    }

    private static func lend<Address, Result>(
        _ address: Address, _ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result
    ) rethrows -> Result {
        unsafe try withUnsafePointer(to: address) { pointer in
            unsafe try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe try body($0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }
}

extension SocketAddress {
    /// - Parameter scope: the interface index, required for an IPv6 link-local address.
    public init(_ address: IPAddress, port: UInt16, scope: UInt32 = 0) {
        switch address {
        case .v4(let value): self.init(ipv4: value, port: port)
        case .v6(let value):
            self.init(
                ipv6: UInt64(truncatingIfNeeded: value >> 64), UInt64(truncatingIfNeeded: value), port: port,
                scope: scope)
        }
    }

    /// The address alone, without port and scope.
    public var ip: IPAddress {
        switch family {
        case .ipv4: .v4(UInt32(truncatingIfNeeded: low))
        case .ipv6: .v6(UInt128(high) << 64 | UInt128(low))
        }
    }
}

extension SocketAddress: CustomStringConvertible {
    /// Parses "127.0.0.1:53", "[::1]:53" or "[fe80::1%eth0]:53"; an interface may be a number.
    ///
    /// - Parameter defaultPort: the port of a text without one: "127.0.0.1", "::1", "[::1]". `nil`: the port is
    ///   required.
    /// - Returns: `nil` for anything else: names, an unknown interface, a port over 65535.
    public init?(_ text: String, defaultPort: UInt16? = nil) {
        guard let endpoint = AddressAndPort(text, defaultPort: defaultPort) else { return nil }
        self.init(endpoint)
    }

    /// Nil when the zone names no interface of this machine.
    public init?(_ endpoint: AddressAndPort) {
        var scope: UInt32 = 0
        if let zone = endpoint.zone {
            scope = unsafe UInt32(zone) ?? if_nametoindex(zone)
            guard scope != 0 else { return nil }
        }
        self.init(endpoint.address, port: endpoint.port, scope: scope)
    }

    /// The address and port in the form that the initializer parses; an IPv6 address is always in brackets.
    public var description: String { family == .ipv4 ? "\(host):\(port)" : "[\(host)]:\(port)" }

    /// The address without port and brackets, with the interface of a link-local one.
    public var host: String {
        scope == 0 ? "\(ip)" : "\(ip)%\(Self.interfaceName(scope) ?? "\(scope)")"
    }

    /// The name of the interface with this index; nil when there is none now. Asks the kernel.
    public static func interfaceName(_ index: UInt32) -> String? {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(IF_NAMESIZE)) { buffer in
            guard let base = buffer.baseAddress, let name = unsafe if_indextoname(index, base) else { return nil }
            return unsafe String(cString: name)
        }
    }
}

/// The transport protocol of a listener.
public enum Transport: String, CaseIterable, Sendable {
    case udp = "UDP"
    case tcp = "TCP"
    /// DNS over TLS (RFC 7858).
    case tls = "DoT"
    /// DNS over HTTPS (RFC 8484).
    case https = "DoH"

    /// Whether it cannot be read on the path.
    public var isEncrypted: Bool { self == .tls || self == .https }

    /// How logs, metrics and listings name it.
    public var label: String { rawValue.lowercased() }
}
