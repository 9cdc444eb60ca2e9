import CSystem.Linux
import Glibc
import Platform
import TestSupport
import Testing

/// A UDP client connected to one address, so that the kernel drops responses from any other.
private final class Client {
    let descriptor: Descriptor

    init(_ server: SocketAddress) throws {
        let number = socket(server.family == .ipv4 ? AF_INET : AF_INET6, Int32(SOCK_DGRAM.rawValue), 0)
        descriptor = Descriptor(owning: number)
        // A missing response fails the test instead of hanging it.
        var patience = timeval(tv_sec: time_t(Duration.patience.components.seconds), tv_usec: 0)
        setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        try #require(server.withSockaddr { connect(number, $0, $1) } == 0)
    }

    func send(_ text: String) { _ = Glibc.send(descriptor.number, text, text.utf8.count, 0) }

    func receive() -> String? {
        var buffer = [UInt8](repeating: 0, count: 512)
        let count = recv(descriptor.number, &buffer, buffer.count, 0)
        return count < 0 ? nil : String(decoding: buffer.prefix(count), as: UTF8.self)
    }
}

/// The batch of one server thread.
private final class Batch {
    let batch: OpaquePointer
    let slots: UnsafeMutablePointer<clinux_slot>

    init(slots count: Int32 = 16, inSize: Int = 64, outSize: Int = 64) throws {
        batch = try #require(clinux_batch_new(count, inSize, outSize))
        slots = clinux_batch_slots(batch)
    }

    deinit { clinux_batch_free(batch) }

    /// Waits for the next datagrams.
    func receive(_ socket: UDPSocket) -> Int32 {
        var ready = pollfd(fd: socket.descriptor.number, events: Int16(POLLIN), revents: 0)
        _ = poll(&ready, 1, Int32(Duration.patience.components.seconds * 1_000))
        return clinux_batch_receive(batch, socket.descriptor.number, 0)
    }

    func text(_ slot: Int) -> String {
        String(decoding: UnsafeBufferPointer(start: slots[slot].in, count: Int(slots[slot].in_length)), as: UTF8.self)
    }

    func queue(_ slot: Int, _ text: String) {
        for (index, byte) in text.utf8.enumerated() { slots[slot].out[index] = byte }
        slots[slot].out_length = UInt32(text.utf8.count)
    }

    func send(_ socket: UDPSocket) -> Int32 { clinux_batch_send(batch, socket.numbers, Int32(socket.numbers.count)) }

    func origin(_ slot: Int) -> clinux_origin {
        var origin = clinux_origin()
        clinux_batch_origin(batch, Int32(slot), &origin)
        return origin
    }
}

/// Sends one late response.
///
/// - Returns: whether it was sent.
private func reply(_ text: String, _ socket: UDPSocket, _ origin: clinux_origin) -> Bool {
    let late = clinux_late_reply(offset: 0, length: UInt32(text.utf8.count), origin: origin)
    return clinux_send_late(socket.numbers, Int32(socket.numbers.count), Array(text.utf8), [late], 1) == 1
}

struct DatagramTests {
    private let server: UDPSocket
    private let batch: Batch
    private let client: Client

    init() throws {
        server = try Self.bind("127.0.0.1:0")
        (batch, client) = (try Batch(), try Client(server.address))
    }

    private static func bind(_ text: String) throws -> UDPSocket {
        let address = try #require(SocketAddress(text))
        return try #require(try UDPSocket.bind(address).receivers.first)
    }

    @Test(arguments: ["127.0.0.1:0", "[::1]:0"])
    func `a batch of datagrams comes in and each gets its own reply`(address: String) throws {
        let server = try Self.bind(address)
        let clients = try (0..<10).map { _ in try Client(server.address) }
        for (index, client) in clients.enumerated() { client.send("question \(index)") }
        #expect(batch.receive(server) == 10)
        // In another order than they arrived.
        for slot in (0..<10).reversed() { batch.queue(slot, "reply to \(batch.text(slot))") }
        #expect(batch.send(server) == 10)
        #expect(clients.map { $0.receive() } == (0..<10).map { "reply to question \($0)" })
    }

    @Test func `slots are good for batch after batch of different lengths`() throws {
        let batch = try Batch(slots: 4)
        for round in 1...20 {
            let texts = (0..<(round % 4 + 1)).map { String(repeating: "\($0)", count: round) }
            for text in texts { client.send(text) }
            #expect(batch.receive(server) == Int32(texts.count))
            #expect(texts.indices.map { batch.text($0) } == texts)
            for slot in texts.indices { batch.queue(slot, batch.text(slot)) }
            #expect(batch.send(server) == Int32(texts.count))
            #expect(texts.indices.map { _ in client.receive() } == texts)
        }
    }

    @Test func `with nothing there a receive says so`() throws {
        #expect(clinux_batch_receive(batch.batch, server.descriptor.number, 0) == -EAGAIN)
    }

    @Test func `a datagram longer than its slot is marked as truncated, the next is not`() throws {
        let batch = try Batch(inSize: 16)
        client.send(String(repeating: "a", count: 17))
        client.send(String(repeating: "b", count: 16))
        #expect(batch.receive(server) == 2)
        #expect((0..<2).map { batch.slots[$0].is_truncated } == [1, 0])
        #expect((0..<2).map { batch.slots[$0].in_length } == [16, 16])
    }

    @Test func `a reply that cannot be sent does not hold up the others`() throws {
        for text in ["a", "b", "c"] { client.send(text) }
        #expect(batch.receive(server) == 3)
        for slot in 0..<3 { batch.queue(slot, "reply to \(batch.text(slot))") }
        // Nothing can be sent to port 0.
        batch.slots[1].peer.sin6_port = 0
        #expect(batch.send(server) == 2)
        #expect([client.receive(), client.receive()] == ["reply to a", "reply to c"])
    }

    @Test(arguments: ["127.0.0.5:0", "[::1]:0"])
    func `a socket of one address sends late replies from there, without an explicit source`(address: String) throws {
        let server = try Self.bind(address)
        let client = try Client(server.address)
        client.send("question")
        #expect(batch.receive(server) == 1)
        let origin = batch.origin(0)
        #expect(origin.has_local == 0)
        #expect(reply("later", server, origin))
        #expect(client.receive() == "later")
    }

    @Test func `an IPv6 wildcard socket knows the address asked, and answers from nothing else`() throws {
        let server = try Self.bind("[::]:0")
        let client = try Client(try #require(SocketAddress("[::1]:\(server.address.port)")))
        client.send("question")
        #expect(batch.receive(server) == 1)
        batch.queue(0, "at once")
        #expect(batch.send(server) == 1)
        #expect(client.receive() == "at once")
        var origin = batch.origin(0)
        #expect(origin.has_local == 1)
        #expect(origin.interface == 0)
        #expect(reply("later", server, origin))
        #expect(client.receive() == "later")
        // 2001:db8::1 is not ours: that the kernel refuses it shows that the response's source is taken from the
        // origin.
        withUnsafeMutableBytes(of: &origin.local) { $0.copyBytes(from: [0x20, 0x01, 0x0d, 0xb8]) }
        #expect(!reply("never", server, origin))
    }

    @Test func `the origin of a datagram is its sender, and survives the batch's next receive`() throws {
        let batch = try Batch(slots: 1)
        let clients = try (0..<2).map { _ in try Client(server.address) }
        clients[0].send("first")
        #expect(batch.receive(server) == 1)
        let origin = batch.origin(0)
        clients[1].send("second")
        #expect(batch.receive(server) == 1)
        #expect(reply("late", server, origin))
        #expect(clients[0].receive() == "late")
    }

    @Test(arguments: [0, 1_025] as [Int32]) func `a batch of no or too many slots is not made`(slots: Int32) {
        #expect(clinux_batch_new(slots, 64, 64) == nil)
    }
}
