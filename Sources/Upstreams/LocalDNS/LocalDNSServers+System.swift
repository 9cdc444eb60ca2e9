package import DNSWire
import Glibc
import Platform

/// The addresses of all interfaces of this host, loopback included (getifaddrs(3)); empty if the kernel returns an
/// error.
package func interfaceAddresses() -> Set<IPAddress> {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard unsafe getifaddrs(&first) == 0 else { return [] }
    defer { unsafe freeifaddrs(first) }
    var addresses: Set<IPAddress> = []
    var next = unsafe first
    while let entry = unsafe next {
        unsafe next = unsafe entry.pointee.ifa_next
        guard let address = unsafe entry.pointee.ifa_addr else { continue }
        // The kernel fills in what the family needs, and `SocketAddress` reads no more than that.
        let length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        if let ip = unsafe SocketAddress(UnsafePointer(address), length: length)?.ip { addresses.insert(ip) }
    }
    return addresses
}

/// The first `ResolvConf.maximumSize` bytes of a regular file; nil when it does not exist or cannot be read.
package func readListFile(_ path: String) -> [UInt8]? {
    try? readText(path, limit: ResolvConf.maximumSize, isRegular: true)
}
