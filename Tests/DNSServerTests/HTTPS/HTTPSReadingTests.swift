import Glibc
import Platform
import Scheduling
import TestSupport
import Testing

@testable import DNSServer

/// How a connection reads what its stream holds back.
@Suite(.onLoop) struct HTTPSReadingTests {
    /// A server with one connection.
    @Loop
    private func start(
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

    @Loop
    @Test func `what a stream holds back is read once in a turn, however many responses come in it`() async throws {
        let (service, stream) = (SlowService(), try HoldingStream())
        let requests = [UInt32(1), 3, 5].flatMap { Frames.headers($0, Frames.request("GET", "/slow")) }
        stream.parts = [Frames.preface + Frames.frame(.settings) + requests]
        let server = try start(service, reading: stream, alpn: "h2")
        let table = server.server.serving.encrypted
        await awaited { service.replies.count == 3 }
        stream.parts = [[UInt8]](repeating: Frames.frame(.ping, [UInt8](repeating: 1, count: 8)), count: 10)
        for reply in service.replies { reply(HTTPServerResponse(.ok)) }
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

    /// 200 requests that an HTTP/1.1 client sends ahead of the responses, which are long.
    private static let ahead = [[UInt8]](repeating: Array("GET /long HTTP/1.1\r\nhost: a\r\n\r\n".utf8), count: 200)

    @Loop
    @Test func `requests that a client sends ahead are handled a few in a turn, and all`() async throws {
        let (service, stream) = (LongService(), try HoldingStream())
        stream.parts = [Array(Self.ahead.joined())]
        let server = try start(service, reading: stream)
        await awaited { service.calls > 0 }
        #expect(service.calls <= HTTPServerLimits.handled)
        await awaited { service.calls == 200 }
        await server.stop()
    }

    @Loop
    @Test func `for a client that sends requests ahead and reads nothing no more responses are made than may wait`()
        async throws
    {
        let (service, stream) = (LongService(), try HoldingStream())
        stream.isFull = true
        stream.parts = [Array(Self.ahead.joined())]
        let server = try start(service, reading: stream)
        let table = server.server.serving.encrypted
        let limit = TestServer.limits.queuedReplies
        await awaited { table.buffered > limit }
        for _ in 0..<20 { await table.loop.sleep(until: table.loop.now) }
        #expect(table.buffered < limit + 2 * LongService.length)
        stream.isFull = false
        await server.stop()
    }
}

/// A service whose responses are long.
@Loop
private final class LongService: HTTPService {
    nonisolated static let length = 60_000
    private(set) var calls = 0

    func respond(
        to request: HTTPServerRequest, from client: SocketAddress, reply: @escaping @Loop (HTTPServerResponse) -> Void
    ) -> Bool {
        calls += 1
        reply(HTTPServerResponse(.ok, contentType: "text/plain", body: [UInt8](repeating: 0x61, count: Self.length)))
        return true
    }
}

/// A service that answers when the test wants it.
@Loop
private final class SlowService: HTTPService {
    private(set) var replies: [@Loop (HTTPServerResponse) -> Void] = []

    func respond(
        to request: HTTPServerRequest, from client: SocketAddress, reply: @escaping @Loop (HTTPServerResponse) -> Void
    ) -> Bool {
        replies.append(reply)
        return true
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
