import Glibc
import Platform
import Scheduling
import TestSupport
import Testing

@testable import DNSServer

/// How a connection reads what its stream holds back.
@Suite(.onLoop) struct HTTPSReadingTests {
    @Loop
    @Test func `what a stream holds back is read once in a turn, however many responses come in it`() async throws {
        let sockets = try ServerSockets.bind([try #require(SocketAddress("127.0.0.1:0"))], threads: 1)
        let server = try TestServer.start(sockets, responder: .address())
        let (service, stream, table) = (SlowService(), try HoldingStream(), server.server.encrypted)
        server.server.site.service = service
        let requests = [UInt32(1), 3, 5].flatMap { Frames.headers($0, Frames.request("GET", "/slow")) }
        stream.parts = [Frames.preface + Frames.frame(.settings) + requests]
        let client = ConnectionClient(address: try #require(SocketAddress("127.0.0.1:5000")), transport: .https)
        #expect(table.add(HTTPSConnection(stream, client: client, alpn: "h2", in: table)))
        await awaited { service.replies.count == 3 }
        stream.parts = [[UInt8]](repeating: Frames.frame(.ping, [UInt8](repeating: 1, count: 8)), count: 10)
        for reply in service.replies { reply(HTTPServerResponse(.ok)) }
        // Ends in the next turn, before what is done at that one's end.
        await table.loop.sleep(until: table.loop.now)
        #expect(stream.parts.count == 9)
        await awaited { stream.parts.isEmpty }
        await server.stop()
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

    func write(_ bytes: ArraySlice<UInt8>) -> StreamOutcome { .moved(bytes.count) }

    func close() { descriptor = nil }
}
