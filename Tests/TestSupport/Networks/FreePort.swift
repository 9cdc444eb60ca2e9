import Synchronization

/// Returns ports that are free for UDP and TCP, each only once.
///
/// They lie below the range from which the kernel takes source ports, so that no socket of a daemon under test can take
/// one before it is used.
package enum FreePort {
    private static let last = Mutex(UInt16.random(in: 12_000..<20_000))

    /// A port that is free on all of `hosts`.
    package static func next(on hosts: [String] = ["127.0.0.1"]) throws -> UInt16 {
        for _ in 0..<2_000 {
            let port = last.withLock { port in
                port = port >= 31_999 ? 12_000 : port + 1
                return port
            }
            if hosts.allSatisfy({ isFree(TestAddress($0, port: port)) }) { return port }
        }
        throw TestFailure("no free port on \(hosts)")
    }

    /// A port of `host` with both its sockets. What only looks at a port and binds it later finds it in use where another
    /// thread starts a process meanwhile: that has a copy of each descriptor until its program begins.
    static func bound(on host: String) throws -> (address: TestAddress, datagrams: TestSocket, listener: TestSocket) {
        for _ in 0..<2_000 {
            let address = TestAddress(host, port: try next(on: []))
            if let datagrams = try? TestSocket.udp(address), let listener = try? TestSocket.listener(address) {
                return (address, datagrams, listener)
            }
        }
        throw TestFailure("no free port on \(host)")
    }

    private static func isFree(_ address: TestAddress) -> Bool {
        guard (try? TestSocket.udp(address)) != nil else { return false }
        return (try? TestSocket.listener(address)) != nil
    }
}
