import DNSWire
import Glibc
import Platform
import TestSupport
import Testing

@testable import DNSServer

/// How a connection reads what its stream holds back.
@Suite(.onLoop) struct HTTPSReadingTests {
    /// A server with one connection.
    @Loop private func start(
        _ service: any HTTPService, reading stream: HoldingStream, alpn: String? = nil
    ) throws -> TestServer {
        let sockets = try ServerSockets.bind([try #require(SocketAddress("127.0.0.1:0"))], threads: 1)
        let server = try TestServer.start(sockets, responder: .address())
        server.serve(service)
        let client = ConnectionClient(address: try #require(SocketAddress("127.0.0.1:5000")), transport: .https)
        let (site, table) = (server.server.site, server.server.serving.encrypted)
        #expect(table.add(HTTPServerConnection(stream, client: client, alpn: alpn, at: site, in: table.context)))
        return server
    }

    @Test @Loop func `what a stream holds back is read once in a turn, however many responses come in it`() async throws
    {
        let stream = try HoldingStream()
        var replies: [@Loop (HTTPServerResponse) -> Void] = []
        let service = ScriptedService { _, reply in
            replies.append(reply)
            return true
        }
        let requests = [UInt32(1), 3, 5].flatMap { Frames.headers($0, Frames.request("GET", "/slow")) }
        stream.parts = [Frames.preface + Frames.frame(.settings) + requests]
        let server = try start(service, reading: stream, alpn: "h2")
        let table = server.server.serving.encrypted
        await awaited { replies.count == 3 }
        stream.parts = [[UInt8]](repeating: Frames.frame(.ping, [UInt8](repeating: 1, count: 8)), count: 10)
        for reply in replies { reply(HTTPServerResponse(.ok)) }
        // Ends in the next turn, before what is done at that one's end.
        await table.loop.sleep(until: table.loop.now)
        #expect(stream.parts.count == 9)
        await awaited { stream.parts.isEmpty }
        await server.stop()
    }

    @Test func `a long response over HTTP1 is taken in parts, so that each is progress`() throws {
        let session = HTTP1ServerSession()
        session.receive(Array("GET /long HTTP/1.1\r\nhost: a\r\n\r\n".utf8)[...])
        let stream = try #require(session.nextRequest())
        session.respond(
            HTTPServerResponse(.ok, contentType: "text/plain", body: [UInt8](repeating: 0x61, count: 40_000)),
            to: stream)
        var parts: [Int] = []
        while session.unsent > 0 {
            var part: [UInt8] = []
            session.takeOutput(into: &part, limit: 16_384)
            parts.append(part.count)
        }
        #expect(parts.count == 3 && parts.max() == 16_384)
    }

    private static let length = 60_000

    /// A service whose responses are long.
    private func longService(_ note: @escaping @Loop () -> Void = {}) -> ScriptedService {
        ScriptedService { _, reply in
            note()
            let body = [UInt8](repeating: 0x61, count: Self.length)
            reply(HTTPServerResponse(.ok, contentType: "text/plain", body: body))
            return true
        }
    }

    /// 200 requests that an HTTP/1.1 client sends ahead of the responses, which are long.
    private static let ahead = [[UInt8]](repeating: Array("GET /long HTTP/1.1\r\nhost: a\r\n\r\n".utf8), count: 200)

    @Test @Loop func `requests that a client sends ahead are handled a few in a turn, and all`() async throws {
        let stream = try HoldingStream()
        stream.parts = [Array(Self.ahead.joined())]
        var calls = 0
        let server = try start(longService { calls += 1 }, reading: stream)
        await awaited { calls > 0 }
        #expect(calls <= HTTPServerLimits.handled)
        await awaited { calls == 200 }
        await server.stop()
    }

    @Test @Loop func `for a client that reads nothing no more responses are made than may wait`() async throws {
        let stream = try HoldingStream()
        stream.isFull = true
        stream.parts = [Array(Self.ahead.joined())]
        let server = try start(longService(), reading: stream)
        let table = server.server.serving.encrypted
        let limit = TestServer.limits.queuedReplies
        await awaited { table.buffered > limit }
        for _ in 0..<20 { await table.loop.sleep(until: table.loop.now) }
        #expect(table.buffered < limit + 2 * Self.length)
        stream.isFull = false
        await server.stop()
    }
}

/// A stream that has received everything before it is read, one part by each read; its socket is never ready to be read.
@Loop
private final class HoldingStream: ByteStream {
    let number: Int32
    var parts: [[UInt8]] = []
    /// Whether it takes no byte.
    var isFull = false
    private var descriptor: Descriptor?
    private let other: Descriptor

    init() throws {
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        number = pair[0]
        descriptor = Descriptor(owning: pair[0])
        other = Descriptor(owning: pair[1])
    }

    var hasUnread: Bool { !parts.isEmpty }

    func read(into buffer: inout [UInt8]) -> StreamOutcome {
        guard !parts.isEmpty else { return .waits(.readable) }
        let part = parts.removeFirst()
        buffer.replaceSubrange(..<part.count, with: part)
        return .moved(part.count)
    }

    func write(_ bytes: ArraySlice<UInt8>) -> StreamOutcome { isFull ? .waits(.writable) : .moved(bytes.count) }

    func close() { descriptor = nil }

    func endOutput() -> StreamSocket? { nil }
}
