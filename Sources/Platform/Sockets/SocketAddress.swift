package import CLinux
import Glibc

/// An IPv4 or IPv6 address with a port: a value of 24 bytes, equal and hashed by all fields.
@frozen
package struct SocketAddress: Hashable, Sendable {
    @frozen
    package enum Family: UInt8, Sendable {
        case ipv4 = 4
        case ipv6 = 6
    }

    package let family: Family
    package var port: UInt16
    /// The interface index of an IPv6 link-local address, else 0.
    package let scope: UInt32
    /// The first eight bytes of an IPv6 address, big-endian; 0 for IPv4.
    package let high: UInt64
    /// The last eight bytes of an IPv6 address, or the IPv4 address, big-endian.
    package let low: UInt64

    package init(ipv4 address: UInt32, port: UInt16) {
        family = .ipv4
        self.port = port
        scope = 0
        high = 0
        low = UInt64(address)
    }

    package init(ipv6 high: UInt64, _ low: UInt64, port: UInt16, scope: UInt32 = 0) {
        family = .ipv6
        self.port = port
        self.scope = scope
        self.high = high
        self.low = low
    }

    /// Converts a C address; `nil` unless it is a complete IPv4 or IPv6 one.
    package init?(_ pointer: UnsafePointer<sockaddr>, length: socklen_t) {
        unsafe self.init(raw: UnsafeRawPointer(pointer), length: Int(length))
    }

    /// The sender of the datagram in a slot of a batch; `nil` for a slot without one.
    package init?(_ slot: UnsafePointer<clinux_slot>) {
        unsafe self.init(UnsafePointer(clinux_slot_peer(slot)), length: slot.pointee.peer_length)
    }

    private init?(raw: UnsafeRawPointer, length: Int) {
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

    /// The address alone, 4 or 16 bytes in network order.
    package var addressBytes: [UInt8] {
        switch family {
        case .ipv4: stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: low >> UInt64($0)) }
        case .ipv6:
            [high, low].flatMap { word in
                stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
            }
        }
    }

    /// Whether this is 0.0.0.0 or ::, which stands for every address of the machine.
    package var isWildcard: Bool { high == 0 && low == 0 }

    /// Calls `body` with the address as a C `sockaddr`, valid during the call.
    package func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result) rethrows -> Result
    {
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
