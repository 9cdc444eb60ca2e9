import Glibc
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
        guard isIPv6 else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { throw TestFailure("not IPv4: \(host)") }
            return try withUnsafePointer(to: address) { pointer in
                try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    try body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        guard inet_pton(AF_INET6, host, &address.sin6_addr) == 1 else { throw TestFailure("not IPv6: \(host)") }
        return try withUnsafePointer(to: address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                try body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
            }
        }
    }

    /// Lets `body` write an address, as `accept`, `recvfrom` and `getsockname` do.
    static func filled<Result>(
        by body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Result
    ) -> (Result, TestAddress) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &length) }
        }
        return (result, TestAddress(storage))
    }

    private init(_ storage: sockaddr_storage) {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        (host, port) = withUnsafePointer(to: storage) { pointer in
            if Int32(storage.ss_family) == AF_INET6 {
                return pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                    var bytes = address.pointee.sin6_addr
                    inet_ntop(AF_INET6, &bytes, &text, socklen_t(text.count))
                    return (Self.string(text), UInt16(bigEndian: address.pointee.sin6_port))
                }
            }
            return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                var bytes = address.pointee.sin_addr
                inet_ntop(AF_INET, &bytes, &text, socklen_t(text.count))
                return (Self.string(text), UInt16(bigEndian: address.pointee.sin_port))
            }
        }
    }

    private static func string(_ text: [CChar]) -> String {
        String(decoding: text.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
    }

    /// The bytes of an address in text form: 4 or 16 of them.
    package static func bytes(_ text: String) throws -> [UInt8] {
        if text.contains(":") {
            var address = in6_addr()
            guard inet_pton(AF_INET6, text, &address) == 1 else { throw TestFailure("not IPv6: \(text)") }
            return withUnsafeBytes(of: &address) { Array($0) }
        }
        var address = in_addr()
        guard inet_pton(AF_INET, text, &address) == 1 else { throw TestFailure("not IPv4: \(text)") }
        return withUnsafeBytes(of: &address) { Array($0) }
    }

    /// The text form of 4 or 16 bytes; nil for any other number.
    package static func text(_ bytes: [UInt8]) -> String? {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return nil }
        return string(text)
    }
}
