import COpenSSL
import DNSWire
import Glibc
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer

/// What a stream makes of records that are received together.
@Suite(.onLoop) struct TLSStreamTests {
    @Test @Loop func `records that find no room in the buffer are read by the next calls`() throws {
        let client = try SteppedTLSClient()
        for text in ["one", "two", "six"] { client.write(text) }
        // The first call takes all from the socket, which is not ready again.
        #expect(client.read(3) == "one" && client.stream.hasUnread)
        #expect(client.read(3) == "two" && client.stream.hasUnread)
        #expect(client.read(3) == "six" && !client.stream.hasUnread)
    }

    @Test @Loop func `the end that comes with bytes is read after them, and nothing is left then`() throws {
        let client = try SteppedTLSClient()
        client.write("last")
        client.end()
        #expect(client.read(100) == "last" && client.stream.hasUnread)
        #expect(client.outcome(100) == .ended)
        #expect(!client.stream.hasUnread)
    }

    @Test @Loop func `what comes before a broken record is read, be it one byte, and nothing after it`() throws {
        let client = try SteppedTLSClient()
        client.write("1")
        // Application data that no key has encrypted.
        client.send([23, 3, 3, 0, 20] + [UInt8](repeating: 7, count: 20))
        #expect(client.read(100) == "1")
        #expect(client.outcome(100) == .failed)
    }
}

/// A client and the server's stream after their handshake; neither waits for the other, so all that the client sends is
/// received at once.
@Loop
private final class SteppedTLSClient {
    let stream: TLSStream
    private nonisolated(unsafe) let connection: OpaquePointer
    private nonisolated(unsafe) let context: OpaquePointer
    private nonisolated let number: Int32
    private var buffer: [UInt8] = []

    init() throws {
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
        let leaf = try EncryptedServer.certificates.get().leaf(names: ["dns.example"])
        let terms = try TLSContext(try EncryptedServer.content(leaf))
        number = pair[0]
        let made = TLSStream(StreamSocket(Descriptor(owning: pair[1])), terms, isHTTP: false)
        stream = try #require(made)
        context = try #require(SSL_CTX_new(TLS_client_method()))
        connection = try #require(SSL_new(context))
        SSL_set_fd(connection, number)
        var progress: StreamOutcome? = .waits(.readable)
        for _ in 0..<10 where progress != nil {
            SSL_connect(connection)
            progress = stream.shakeHands()
        }
        try #require(progress == nil && SSL_is_init_finished(connection) == 1)
    }

    deinit {
        SSL_free(connection)
        SSL_CTX_free(context)
        close(number)
    }

    /// Sends a record.
    func write(_ text: String) { SSL_write(connection, text, Int32(text.utf8.count)) }

    /// Says that no more is sent.
    func end() { SSL_shutdown(connection) }

    /// Sends bytes as they are.
    func send(_ bytes: [UInt8]) { _ = Glibc.send(number, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }

    /// Has the server read into a buffer of this size.
    func outcome(_ size: Int) -> StreamOutcome {
        buffer = [UInt8](repeating: 0, count: size)
        return stream.read(into: &buffer)
    }

    /// The same, as text; nil when nothing was read.
    func read(_ size: Int) -> String? {
        guard case .moved(let count) = outcome(size) else { return nil }
        return String(decoding: buffer.prefix(count), as: UTF8.self)
    }
}
