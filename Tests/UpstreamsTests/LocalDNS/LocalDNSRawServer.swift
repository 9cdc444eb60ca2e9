import DNSWire
import Glibc
import Platform
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

    private var datagrams: TestSocket?
    private var listener: TestSocket?
    private var watches: [Watch] = []
    private var connections: [Int32: (socket: TestSocket, held: [UInt8])] = [:]

    init(_ answer: @escaping @Loop (RawQuery) -> [[UInt8]] = { _ in [] }) throws {
        self.answer = answer
        let (address, datagrams, listener) = try FreePort.bound(on: "127.0.0.1")
        (port, self.datagrams, self.listener) = (address.port, datagrams, listener)
        try watch(datagrams) { $0.readDatagrams() }
        try watch(listener) { $0.accept() }
    }

    isolated deinit {
        for watch in watches { watch.cancel() }
        // A program that is started meanwhile would have a copy, and a query would be refused by nothing.
        ChildProcess.withoutStarts { (datagrams, listener, connections) = (nil, nil, [:]) }
    }

    private func watch(_ socket: TestSocket, _ read: @escaping @Loop (LocalDNSRawServer) -> Void) throws {
        watches.append(
            try LoopRunner.shared.loop.watch(socket.descriptor, for: .readable) { [unowned self] _ in read(self) })
    }

    private func stopWatching(_ descriptor: Int32?) {
        watches.first { $0.descriptor == descriptor && $0.isActive }?.cancel()
    }

    /// Returns once `count` queries in all have arrived.
    func received(_ count: Int) async {
        await awaited { queries.count >= count }
    }

    /// Sends bytes as the reply to `query`, from the address that it was sent to.
    func send(_ reply: [UInt8], to query: RawQuery) {
        switch query.way {
        case .udp(let port): try? datagrams?.send(reply, to: TestAddress("127.0.0.1", port: port))
        case .tcp: sendRaw([UInt8(reply.count >> 8), UInt8(reply.count & 0xff)] + reply, to: query)
        }
    }

    /// Sends bytes as they are over the connection on which `query` came.
    func sendRaw(_ bytes: [UInt8], to query: RawQuery) { try? connection(of: query)?.write(bytes) }

    /// Sends no more over the connection on which `query` came.
    func hangUp(on query: RawQuery) { connection(of: query)?.shutdownWriting() }

    private func connection(of query: RawQuery) -> TestSocket? {
        guard case .tcp(let connection) = query.way else { return nil }
        return connections[connection]?.socket
    }

    /// Refuses datagrams from now on.
    func stopUDP() {
        stopWatching(datagrams?.descriptor)
        datagrams = nil
    }

    /// Refuses connections from now on.
    func stopTCP() {
        stopWatching(listener?.descriptor)
        listener = nil
    }

    /// Sends bytes to `query`'s source port from a port other than the one that was asked.
    func sendFromElsewhere(_ reply: [UInt8], to query: RawQuery) throws {
        guard case .udp(let port) = query.way else { return }
        try TestSocket.udp(TestAddress("127.0.0.1")).send(reply, to: TestAddress("127.0.0.1", port: port))
    }

    private func take(_ bytes: [UInt8], _ way: RawQuery.Way) {
        let query = RawQuery(bytes: bytes, way: way)
        queries.append(query)
        for reply in answer(query) { send(reply, to: query) }
    }

    private func readDatagrams() {
        while let (bytes, from) = datagrams?.receive(.zero) { take(bytes, .udp(port: from.port)) }
    }

    private func accept() {
        guard let (socket, _) = listener?.accept() else { return }
        let connection = socket.descriptor
        connections[connection] = (socket, [])
        try? watch(socket) { $0.readStream(connection) }
    }

    private func readStream(_ connection: Int32) {
        guard let (socket, before) = connections[connection] else { return }
        guard let (bytes, _) = socket.receive(.zero), !bytes.isEmpty else {
            stopWatching(connection)
            connections[connection] = nil
            return
        }
        var held = before + bytes
        while held.count >= 2 {
            let length = Int(held[0]) << 8 | Int(held[1])
            guard held.count >= 2 + length else { break }
            take(Array(held[2..<(2 + length)]), .tcp(connection))
            held.removeFirst(2 + length)
        }
        connections[connection]?.held = held
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

/// A query as it was received.
struct RawQuery: Sendable {
    enum Way: Sendable, Equatable {
        case udp(port: UInt16)
        case tcp(Int32)
    }

    let bytes: [UInt8]
    let way: Way

    var id: UInt16 { UInt16(bytes[0]) << 8 | UInt16(bytes[1]) }
    var isTCP: Bool { if case .tcp = way { true } else { false } }
    var sourcePort: UInt16? { if case .udp(let port) = way { port } else { nil } }
    var additionalCount: UInt8 { bytes[11] }
    var type: UInt16 { UInt16(question[question.count - 4]) << 8 | UInt16(question[question.count - 3]) }
    /// QNAME in wire form, as it was sent.
    var name: [UInt8] { Array(question.dropLast(4)) }

    /// Whether its name begins with `slow`: a test's server may not reply to such names.
    var isSlow: Bool { name.dropFirst().prefix(4).map { $0 | 0x20 } == Array("slow".utf8) }

    /// Whether it is a query of a probe.
    var isProbe: Bool { type == 2 }

    /// QNAME, QTYPE and QCLASS.
    var question: [UInt8] {
        var at = 12
        while bytes[at] != 0 { at += 1 + Int(bytes[at]) }
        return Array(bytes[12..<(at + 5)])
    }

    /// A reply to it; each argument makes it differ in one way.
    func reply(
        _ records: [[UInt8]] = [], flags: UInt16 = 0x8180, id: UInt16? = nil, question: [UInt8]? = nil,
        authorities: [[UInt8]] = [], additionals: [[UInt8]] = []
    ) -> [UInt8] {
        let id = id ?? self.id
        let counts = [records.count, authorities.count, additionals.count].flatMap {
            [UInt8($0 >> 8), UInt8($0 & 0xff)]
        }
        return [UInt8(id >> 8), UInt8(id & 0xff), UInt8(flags >> 8), UInt8(flags & 0xff), 0, 1] + counts
            + (question ?? self.question) + records.joined() + authorities.joined() + additionals.joined()
    }

    /// The reply that most servers give: one address, `rawGood`.
    var good: [UInt8] { reply([rawRecord(1, rawGood)]) }

    /// A reply of a header only, as servers send that could not read the query or refused it.
    func bareReply(code: UInt16, id: UInt16? = nil) -> [UInt8] {
        let id = id ?? self.id
        return [UInt8(id >> 8), UInt8(id & 0xff), 0x81, UInt8(0x80 | code), 0, 0, 0, 0, 0, 0, 0, 0]
    }

    /// The question's name in the opposite letter case.
    var flippedQuestion: [UInt8] {
        name.map { (0x41...0x5a).contains($0 & ~0x20) ? $0 ^ 0x20 : $0 } + question.suffix(4)
    }
}

/// A record whose owner is QNAME, by a pointer, unless `owner` says otherwise.
func rawRecord(_ type: UInt16, owner: [UInt8] = [0xc0, 12], ttl: UInt32 = 60, _ rdata: [UInt8]) -> [UInt8] {
    owner + [UInt8(type >> 8), UInt8(type & 0xff), 0, 1]
        + (0..<4).map { UInt8(truncatingIfNeeded: ttl >> UInt32(24 - 8 * $0)) }
        + [UInt8(rdata.count >> 8), UInt8(rdata.count & 0xff)] + rdata
}

/// An OPT record of a server; `code`: the upper eight bits of the RCODE.
func rawOPT(code: UInt8 = 0) -> [UInt8] { [0, 0, 41, 4, 208, code, 0, 0, 0, 0, 0] }

let rawGood: [UInt8] = [192, 0, 2, 1]
let rawEvil: [UInt8] = [203, 0, 113, 66]
