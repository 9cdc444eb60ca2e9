import Glibc
import Platform
import Scheduling
import TestServers
import TestSupport
import Testing

/// A DNS server on 127.0.0.1, UDP and TCP on one port, whose replies the test determines.
///
/// It reads and writes raw bytes and shares no wire code with what it tests.
@Loop
final class LocalDNSRawServer {
    let port: UInt16
    /// All queries, in order of arrival.
    private(set) var queries: [RawQuery] = []
    /// All queries but those of probes.
    var questions: [RawQuery] { queries.filter { !$0.isProbe } }
    /// The replies to send at once to a query.
    var answer: @Loop (RawQuery) -> [[UInt8]]

    private let udp: Int32
    private let tcp: Int32
    private var watches: [Watch] = []
    private var connections: [Int32: [UInt8]] = [:]

    init(_ answer: @escaping @Loop (RawQuery) -> [[UInt8]] = { _ in [] }) throws {
        self.answer = answer
        (udp, tcp, port) = try Self.bindPair()
        let loop = LoopRunner.shared.loop
        watches.append(try loop.watch(udp, for: .readable) { [unowned self] _ in readDatagrams() })
        watches.append(try loop.watch(tcp, for: .readable) { [unowned self] _ in accept() })
    }

    isolated deinit {
        for watch in watches { watch.cancel() }
        // A program that is started meanwhile would have a copy, and a query would be refused by nothing.
        ChildProcess.withoutStarts { for descriptor in [udp, tcp] + connections.keys { close(descriptor) } }
    }

    /// Returns once `count` queries in all have arrived.
    func received(_ count: Int) async {
        await awaited { queries.count >= count }
    }

    /// Sends bytes as the reply to `query`, from the address that it was sent to.
    func send(_ reply: [UInt8], to query: RawQuery) {
        switch query.way {
        case .udp(let port): Self.send(reply, from: udp, toPort: port)
        case .tcp: sendRaw([UInt8(reply.count >> 8), UInt8(reply.count & 0xff)] + reply, to: query)
        }
    }

    /// Sends bytes as they are over the connection on which `query` came.
    func sendRaw(_ bytes: [UInt8], to query: RawQuery) {
        guard case .tcp(let connection) = query.way else { return }
        _ = Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Sends no more over the connection on which `query` came.
    func hangUp(on query: RawQuery) {
        guard case .tcp(let connection) = query.way else { return }
        shutdown(connection, Int32(SHUT_WR))
    }

    /// Refuses datagrams from now on.
    func stopUDP() {
        watches.first { $0.descriptor == udp }?.cancel()
        // The descriptor stays ours, without its port.
        let other = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        dup2(other, udp)
        close(other)
    }

    /// Refuses connections from now on.
    func stopTCP() { shutdown(tcp, Int32(SHUT_RDWR)) }

    /// Sends bytes to `query`'s source port from a port other than the one that was asked.
    func sendFromElsewhere(_ reply: [UInt8], to query: RawQuery) {
        guard case .udp(let port) = query.way else { return }
        let other = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        Self.send(reply, from: other, toPort: port)
        close(other)
    }

    private func take(_ bytes: [UInt8], _ way: RawQuery.Way) {
        let query = RawQuery(bytes: bytes, way: way)
        queries.append(query)
        for reply in answer(query) { send(reply, to: query) }
    }

    private func readDatagrams() {
        while true {
            var bytes = [UInt8](repeating: 0, count: 4_096)
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let count = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(udp, &bytes, bytes.count, Int32(MSG_DONTWAIT), $0, &length)
                }
            }
            guard count >= 0 else { return }
            take(Array(bytes.prefix(count)), .udp(port: UInt16(bigEndian: address.sin_port)))
        }
    }

    private func accept() {
        let connection = Glibc.accept(tcp, nil, nil)
        guard connection >= 0 else {
            watches.first { $0.descriptor == tcp && $0.isActive }?.cancel()
            return
        }
        connections[connection] = []
        let watch = try? LoopRunner.shared.loop.watch(connection, for: .readable) { [unowned self] _ in
            readStream(connection)
        }
        if let watch { watches.append(watch) }
    }

    private func readStream(_ connection: Int32) {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = recv(connection, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        guard count > 0 else {
            watches.first { $0.descriptor == connection && $0.isActive }?.cancel()
            connections[connection] = nil
            close(connection)
            return
        }
        var held = (connections[connection] ?? []) + bytes.prefix(count)
        while held.count >= 2 {
            let length = Int(held[0]) << 8 | Int(held[1])
            guard held.count >= 2 + length else { break }
            take(Array(held[2..<(2 + length)]), .tcp(connection))
            held.removeFirst(2 + length)
        }
        connections[connection] = held
    }

    private static func send(_ bytes: [UInt8], from descriptor: Int32, toPort port: UInt16) {
        _ = loopback(port).withSockaddr { sendto(descriptor, bytes, bytes.count, 0, $0, $1) }
    }

    private static func loopback(_ port: UInt16) -> SocketAddress { SocketAddress(ipv4: 0x7f00_0001, port: port) }

    /// A UDP and a listening TCP socket with the same port, which no other socket gets once they are closed.
    private static func bindPair() throws -> (udp: Int32, tcp: Int32, port: UInt16) {
        while true {
            let port = try FreePort.next()
            let udp = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            let tcp = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            if bind(udp, port), bind(tcp, port), listen(tcp, 16) == 0 { return (udp, tcp, port) }
            let (code, failure) = (errno, SystemError.last("bind a UDP and a TCP socket to one port"))
            for each in [udp, tcp] { _ = close(each) }
            // Another process was faster.
            guard code == EADDRINUSE else { throw failure }
        }
    }

    private static func bind(_ descriptor: Int32, _ port: UInt16) -> Bool {
        loopback(port).withSockaddr { Glibc.bind(descriptor, $0, $1) == 0 }
    }

    /// The number of this process's descriptors that are connected to this server.
    var connectedDescriptors: Int { descriptors(connectedTo: port) }
}

/// The number of this process's descriptors that are connected to this port of 127.0.0.1.
func descriptors(connectedTo port: UInt16) -> Int {
    (0..<Int32(4_096)).count { descriptor in
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
        }
        return result == 0 && address.sin_family == sa_family_t(AF_INET) && UInt16(bigEndian: address.sin_port) == port
    }
}

/// Lets queries and replies on loopback that are under way arrive, and what they cause: each turn of the loop reads
/// what the one before has sent.
@Loop
func repliesArrive(on clock: ManualClock) async {
    let loop = LoopRunner.shared.loop
    for _ in 0..<6 {
        _ = await loop.sleep(until: loop.now)
        await clock.advance(by: .zero)
    }
}
