import Synchronization
import TestSupport

/// Returns ports that are free for UDP and TCP, each only once.
///
/// They lie below the range from which the kernel takes source ports, so that no socket of a daemon under test can take
/// one before it is used.
package enum FreePort {
    private static let ports: ClosedRange<UInt32> = 12_000...31_999
    private static let tried = Atomic(UInt32.random(in: 0..<8_000))

    /// A port that is free on all of `hosts`, for a program that binds it.
    ///
    /// No program is started meanwhile: until it begins it has a copy of each descriptor, and the port would be in use.
    package static func next(on hosts: [String] = ["127.0.0.1"]) throws -> UInt16 {
        try first { port in
            ChildProcess.withoutStarts {
                (try? hosts.forEach { _ = try bind(TestAddress($0, port: port)) }) == nil ? nil : port
            }
        } ?? fail(hosts)
    }

    /// A port of `host` with both its sockets, for a server in this process.
    package static func bound(
        on host: String
    ) throws -> (address: TestAddress, datagrams: TestSocket, listener: TestSocket) {
        try first { port in
            let address = TestAddress(host, port: port)
            return (try? bind(address)).map { (address, $0, $1) }
        } ?? fail([host])
    }

    /// Listeners on one port of all `hosts`, for servers in this process.
    static func listeners(on hosts: [String], backlog: Int32 = 4_096) throws -> (port: UInt16, sockets: [TestSocket]) {
        try first { port in
            (try? hosts.map { try TestSocket.listener(TestAddress($0, port: port), backlog: backlog) })
                .map { (port, $0) }
        } ?? fail(hosts)
    }

    /// What is made of the first port of which it can be.
    private static func first<Result>(_ made: (UInt16) throws -> Result?) rethrows -> Result? {
        for _ in 0..<2_000 {
            let place = tried.wrappingAdd(1, ordering: .relaxed).newValue % UInt32(ports.count)
            if let result = try made(UInt16(ports.lowerBound + place)) { return result }
        }
        return nil
    }

    private static func bind(_ address: TestAddress) throws -> (datagrams: TestSocket, listener: TestSocket) {
        (try TestSocket.udp(address), try TestSocket.listener(address))
    }

    private static func fail<Result>(_ hosts: [String]) throws -> Result {
        throw TestFailure("no free port on \(hosts)")
    }
}
