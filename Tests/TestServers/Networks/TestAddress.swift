import DNSWire
import Glibc
import Platform
import TestSupport

/// An IP address and a port, in the form that tests use.
package struct TestAddress: Hashable, Sendable, CustomStringConvertible {
    /// The address in text form, without brackets.
    package let host: String
    package let port: UInt16

    package init(_ host: String, port: UInt16 = 0) {
        self.host = host
        self.port = port
    }

    package var isIPv6: Bool { host.contains(":") }

    /// `192.0.2.1:53` or `[2001:db8::1]:53`, as in the configuration.
    package var description: String { isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)" }

    var family: Int32 { isIPv6 ? AF_INET6 : AF_INET }

    /// Calls `body` with the address in the kernel's form.
    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result) throws -> Result {
        guard let address = SocketAddress(description) else { throw TestFailure("not an address: \(host)") }
        return try address.withSockaddr(body)
    }

    /// Lets `body` write an address, as `accept`, `recvfrom` and `getsockname` do.
    static func filled<Result>(
        by body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Result
    ) -> (Result, TestAddress) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                let result = body(pointer, &length)
                let address = SocketAddress(pointer, length: length)
                return (result, TestAddress(address.map { "\($0.ip)" } ?? "", port: address?.port ?? 0))
            }
        }
    }

    /// The bytes of an address in text form: 4 or 16 of them.
    package static func bytes(_ text: String) throws -> [UInt8] {
        guard let address = IPAddress(text) else { throw TestFailure("not an address: \(text)") }
        return address.bytes
    }

    /// The text form of 4 or 16 bytes; nil for any other number.
    package static func text(_ bytes: [UInt8]) -> String? { IPAddress(bytes: bytes[...])?.description }
}
