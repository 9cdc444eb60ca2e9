package import DNSWire
import Glibc
import Platform

/// The addresses of all interfaces of this host, loopback included (getifaddrs(3)); none if the kernel does not tell.
package func interfaceAddresses() -> Set<IPAddress> {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { return [] }
    defer { freeifaddrs(first) }
    var addresses: Set<IPAddress> = []
    for entry in sequence(first: first, next: { $0?.pointee.ifa_next }) {
        guard let address = entry?.pointee.ifa_addr else { continue }
        // The kernel fills what the family needs, and SocketAddress reads no more than that.
        let length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        if let ip = SocketAddress(UnsafePointer(address), length: length)?.ip { addresses.insert(ip) }
    }
    return addresses
}

/// The first `ResolvConf.maximumSize` bytes of a regular file; nil when there is none or it cannot be read.
package func readListFile(_ path: String) -> [UInt8]? {
    // O_NONBLOCK: a FIFO in its place must not stop the loop.
    let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard number >= 0 else { return nil }
    let descriptor = Descriptor(owning: number)
    var status = stat()
    guard fstat(descriptor.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    var failed = false
    let bytes = [UInt8](unsafeUninitializedCapacity: ResolvConf.maximumSize) { buffer, count in
        while count < buffer.count {
            let got = read(descriptor.number, buffer.baseAddress.map { $0 + count }, buffer.count - count)
            failed = got < 0
            guard got > 0 else { return }
            count += got
        }
    }
    return failed ? nil : bytes
}
