import DNSWire
import HTTPDNS
import Platform
import Scheduling
import TestSupport
import Testing

@testable import Upstreams

/// HTTP/2 without a network: frames that a server might send, byte by byte.
@Suite(.onLoop)
struct HTTP2SessionTests {
    // MARK: Requests

    @Test @Loop func `the first bytes are the preface and our settings, and forbid pushes`() throws {
        let session = try HTTP2Session(authority: "service.example")
        var sent: [UInt8] = []
        try session.takeFrames(into: &sent, limit: .max)
        #expect(sent.starts(with: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8))
        let settings = try #require(HTTP2Frame.parse(sent.dropFirst(24)).first)
        #expect(settings.type == .settings)
        // SETTINGS_ENABLE_PUSH, 0.
        #expect(settings.payload.starts(with: [0, 2, 0, 0, 0, 0]))
    }

    @Test @Loop func `a request is one frame, and ends its stream`() throws {
        let stage = try Stage()
        let stream = try stage.queue()
        let frame = try #require(try HTTP2Frame.parse(stage.frames()[...]).last)
        #expect(frame.type == .headers && frame.stream == stream.id)
        #expect(frame.flags == Frames.endStream | Frames.endHeaders)
    }

    @Test @Loop func `a body follows in frames of its own`() throws {
        let stage = try Stage()
        let body = [UInt8](repeating: 7, count: 20_000)
        _ = try stage.queue(HTTPRequest(target: "/dns-query", body: body))
        let frames = try HTTP2Frame.parse(stage.frames()[...])
        let data = frames.filter { $0.type == .data }
        #expect(data.flatMap(\.payload) == body)
        #expect(data.map { $0.flags & Frames.endStream } == [0, Frames.endStream])
    }

    @Test @Loop func `above the server's limit a request waits for another one's end`() throws {
        let stage = try Stage()
        // SETTINGS_MAX_CONCURRENT_STREAMS, 1.
        try stage.receive(HTTP2Frame(.settings, payload: [0, 3, 0, 0, 0, 1]))
        let first = try stage.queue()
        let second = try stage.queue()
        #expect(
            try stage.sentRequests() == [first.id])
        try stage.receive(.reply(first.id, ends: true))
        #expect(
            try stage.sentRequests() == [second.id])
    }

    // MARK: Replies

    @Test @Loop func `a reply is complete with its stream's end`() throws {
        let stage = try Stage()
        let stream = try stage.open()
        try stage.receive(.reply(stream.id, fields: [("content-type", "application/json"), ("age", "7")]))
        try stage.receive(HTTP2Frame(.data, stream: stream.id, payload: Array("{}".utf8)))
        #expect(stage.session.takeEnded().isEmpty)
        try stage.receive(
            HTTP2Frame(.data, flags: Frames.endStream, stream: stream.id, payload: Array("\n".utf8)))
        let ended = try #require(stage.session.takeEnded().first)
        #expect(ended.stream === stream && ended.code == .none)
        let response = stream.response
        #expect(response.status == 200 && response.contentType == "application/json" && response.age == 7)
        #expect(response.body == Array("{}\n".utf8))
    }

    @Test @Loop func `an informational header has no effect`() throws {
        let stage = try Stage()
        let stream = try stage.open()
        try stage.receive(.reply(stream.id, status: "103", fields: [("age", "9"), ("content-type", "text/a")]))
        try stage.receive(.reply(stream.id, fields: [("content-type", "text/b")], ends: true))
        #expect(stream.response.status == 200 && stream.response.contentType == "text/b")
        #expect(stream.response.age == nil)
    }

    @Test @Loop func `a trailer has no effect`() throws {
        let stage = try Stage()
        let stream = try stage.open()
        try stage.receive(.reply(stream.id))
        try stage.receive(HTTP2Frame(.data, stream: stream.id, payload: [1]))
        try stage.receive(.fields(stream.id, [("age", "9")], ends: true))
        #expect(stage.session.takeEnded().map(\.code) == [.none])
        #expect(stream.response.age == nil && stream.response.body == [1])
    }

    @Test @Loop func `a stream that the server resets has ended with its reason`() throws {
        let stage = try Stage()
        let stream = try stage.open()
        // REFUSED_STREAM
        try stage.receive(HTTP2Frame(.reset, stream: stream.id, payload: [0, 0, 0, 7]))
        #expect(stage.session.takeEnded().map(\.code) == [.refusedStream])
        #expect(HTTP2Engine.reason(.refusedStream) == "HTTP/2: the stream was reset (REFUSED_STREAM)")
    }

    @Test @Loop func `when the server says goodbye, what it has not taken ends, and nothing more may be sent`() throws {
        let stage = try Stage()
        let taken = try stage.open()
        let refused = try stage.open()
        try stage.receive(
            HTTP2Frame(.goaway, payload: [0, 0, 0, UInt8(taken.id), 0, 0, 0, 0]))
        #expect(stage.session.takeEnded().map { $0.stream === refused } == [true])
        #expect(!stage.session.mayOpen && !stage.session.isOver)
        try stage.receive(.reply(taken.id, ends: true))
        #expect(stage.session.takeEnded().map { $0.stream === taken } == [true])
        #expect(stage.session.isOver)
    }

    @Test @Loop func `a request that was not sent when the server said goodbye is refused`() throws {
        let stage = try Stage()
        let stream = try stage.queue()
        try stage.receive(HTTP2Frame(.goaway, payload: [UInt8](repeating: 0, count: 8)))
        _ = try stage.frames()
        let ended = stage.session.takeEnded()
        #expect(ended.map { $0.stream === stream && $0.code == HTTP2Code.refusedStream } == [true])
    }

    @Test @Loop func `frames of a stream that was reset by us are ignored`() throws {
        let stage = try Stage()
        let stream = try stage.open()
        stage.session.reset(stream)
        try stage.receive(.reply(stream.id, ends: true))
        #expect(stage.session.takeEnded().isEmpty)
        let reset = try #require(try HTTP2Frame.parse(stage.frames()[...]).last)
        // CANCEL
        #expect(reset.type == .reset && reset.payload == [0, 0, 0, 8])
    }

    // MARK: Hostile servers

    @Test @Loop func `a body over its limit ends the stream at once, and harms no other`() throws {
        let stage = try Stage()
        let (large, small) = (try stage.open(), try stage.open())
        try stage.receive(.reply(large.id))
        for count in [16_384, 16_384, 16_384, 16_384, 1] {
            try stage.receive(
                HTTP2Frame(.data, stream: large.id, payload: [UInt8](repeating: 0, count: count)))
            _ = try stage.frames()
        }
        #expect(stage.session.takeEnded().map { $0.stream === large } == [true])
        #expect(large.failure == .unusable("the reply is larger than the limit"))
        try stage.receive(.reply(small.id, ends: true))
        #expect(stage.session.takeEnded().map(\.code) == [.none])
    }

    @Test @Loop func `a header over its limit ends the stream, and the rest of it is not read`() throws {
        let stage = try Stage()
        let stream = try stage.open()
        // A field of 4,000 bytes that is added to the table (RFC 7541 section 6.2.1), and four references to it of one
        // byte each.
        let field = [0x40] + Frames.text("x-a") + Frames.text(String(repeating: "x", count: 4_000))
        let status = HTTP2Frame.reply(stream.id).payload
        try stage.receive(
            HTTP2Frame(
                .headers, flags: Frames.endHeaders, stream: stream.id,
                payload: status + field + [UInt8](repeating: 0x80 | 62, count: 4)))
        #expect(stage.session.takeEnded().count == 1)
        #expect(stream.failure == .unusable("the reply is larger than the limit"))
        // INTERNAL_ERROR: nghttp2 itself has ended it.
        #expect(try HTTP2Frame.parse(stage.frames()[...]).map(\.payload) == [[0, 0, 0, 2]])
    }

    @Test(arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", String(repeating: "\u{0}", count: 64)])
    @Loop func `bytes that are no frames end the connection`(text: String) throws {
        let stage = try Stage()
        #expect(stage.isRefused(Array(text.utf8)))
    }

    @Test @Loop func `a reply without a status ends its stream alone`() throws {
        let stage = try Stage()
        let (broken, good) = (try stage.open(), try stage.open())
        try stage.receive(.fields(broken.id, [("age", "9")]))
        _ = try stage.frames()
        #expect(stage.session.takeEnded().map { $0.stream === broken && $0.code != .none } == [true])
        try stage.receive(.reply(good.id, ends: true))
        #expect(stage.session.takeEnded().map(\.code) == [.none])
    }

    @Test @Loop func `a reply to what was never asked ends the connection`() throws {
        let stage = try Stage()
        #expect(stage.isRefused(HTTP2Frame.reply(9, ends: true).bytes))
    }

    @Test @Loop func `a reply that is pushed before the server knows that we want none changes no other`() throws {
        let stage = try Stage(isAcknowledged: false)
        let stream = try stage.open()
        try stage.receive(.reply(stream.id, fields: [("content-type", "text/a")]))
        // It has not acknowledged our settings (RFC 9113 section 6.5.3).
        let request = HTTP2Frame.fields(
            0,
            [
                (":method", "GET"), (":scheme", "https"), (":authority", "service.example"), (":path", "/"),
                ("content-type", "text/b"), ("age", "9"),
            ])
        try stage.receive(
            HTTP2Frame(
                .push, flags: Frames.endHeaders, stream: stream.id, payload: [0, 0, 0, 2] + request.payload))
        #expect(try HTTP2Frame.parse(stage.frames()[...]).map(\.type) == [.reset])
        try stage.receive(HTTP2Frame(.data, flags: Frames.endStream, stream: stream.id, payload: [1]))
        #expect(stage.session.takeEnded().map(\.code) == [.none])
        let response = stream.response
        #expect(response.status == 200 && response.contentType == "text/a" && response.age == nil)
    }

    /// Frames that are no part of a response, each of a different kind.
    enum Flood: CaseIterable {
        case emptyData, paddedData, informational, dataAfterReply, dataOfCancelled, ping, pingAnswer, settings
        case windowUpdate, streamWindowUpdate, priority, reset, goodbye, unknown, promise

        /// - Parameters: streams of a request that is under way, of one that is answered, and of one that was
        ///   cancelled.
        func frame(open: Int32, answered: Int32, cancelled: Int32) -> HTTP2Frame {
            switch self {
            case .emptyData: HTTP2Frame(.data, stream: open)
            case .paddedData:
                HTTP2Frame(
                    .data, flags: Frames.padded, stream: open, payload: [255] + [UInt8](repeating: 0, count: 255))
            case .informational: .reply(open, status: "103")
            case .dataAfterReply: HTTP2Frame(.data, stream: answered, payload: [1])
            case .dataOfCancelled: HTTP2Frame(.data, stream: cancelled, payload: [1])
            case .ping: HTTP2Frame(.ping, payload: [UInt8](repeating: 1, count: 8))
            case .pingAnswer:
                HTTP2Frame(.ping, flags: Frames.acknowledgement, payload: [UInt8](repeating: 1, count: 8))
            case .settings: HTTP2Frame(.settings)
            case .windowUpdate: HTTP2Frame(.window, payload: [0, 0, 0, 1])
            case .streamWindowUpdate: HTTP2Frame(.window, stream: open, payload: [0, 0, 0, 1])
            case .priority: HTTP2Frame(.priority, stream: open, payload: [0, 0, 0, 0, 9])
            case .reset: HTTP2Frame(.reset, stream: answered, payload: [0, 0, 0, 8])
            case .goodbye: HTTP2Frame(.goaway, payload: [0, 0, 0, UInt8(cancelled), 0, 0, 0, 0])
            case .unknown: HTTP2Frame(.unknown, payload: [1])
            case .promise:
                HTTP2Frame(
                    .push, flags: Frames.endHeaders, stream: open, payload: [0, 0, 0, 2, 0x82, 0x84, 0x87])
            }
        }
    }

    @Test(arguments: Flood.allCases) @Loop func `a flood of frames that are no replies ends the connection`(
        flood: Flood
    ) throws {
        let stage = try Stage()
        let (open, answered, cancelled) = (try stage.open(), try stage.open(), try stage.open())
        try stage.receive(.reply(answered.id, ends: true))
        stage.session.reset(cancelled)
        _ = try stage.frames()
        let frame = flood.frame(open: open.id, answered: answered.id, cancelled: cancelled.id).bytes
        let part = (0..<100).flatMap { _ in frame }
        var received = 0
        while received < 2 * HTTPLimits.overhead, !stage.isRefused(part) { received += part.count }
        #expect(received <= HTTPLimits.overhead + 2 * HTTPLimits.header)
    }

    @Test @Loop func `pings and the like in honest numbers end nothing, whatever the number of requests`() throws {
        let stage = try Stage()
        for number in 0..<10_000 {
            #expect(stage.session.mayOpen)
            let stream = try stage.open()
            for _ in 0..<2 {
                try stage.receive(HTTP2Frame(.ping, payload: [UInt8](repeating: 1, count: 8)))
                try stage.receive(HTTP2Frame(.window, payload: [0, 0, 0, 9]))
                try stage.receive(HTTP2Frame(.unknown, payload: [UInt8](repeating: 1, count: 40)))
            }
            if number % 100 == 0 { try stage.receive(HTTP2Frame(.settings, payload: [0, 3, 0, 0, 0, 100])) }
            try stage.receive(.reply(stream.id, fields: [("a", String(repeating: "x", count: 400))]))
            let body = HTTP2Frame(.data, stream: stream.id, payload: [UInt8](repeating: 1, count: 100))
            for _ in 0..<5 { try stage.receive(body) }
            try stage.receive(HTTP2Frame(.data, flags: Frames.endStream, stream: stream.id))
            _ = try stage.frames()
            #expect(stage.session.takeEnded().map(\.code) == [.none])
        }
    }

    @Test @Loop func `of a body no more can be on its way than one byte over the limit`() throws {
        let session = try HTTP2Session(authority: "service.example")
        var sent: [UInt8] = []
        try session.takeFrames(into: &sent, limit: .max)
        let settings = try #require(HTTP2Frame.parse(sent.dropFirst(24)).first)
        // SETTINGS_INITIAL_WINDOW_SIZE
        #expect(settings.payload.dropFirst(6).prefix(6) == [0, 4, 0, 1, 0, 1])
        let stage = try Stage()
        let stream = try stage.open()
        try stage.receive(.reply(stream.id))
        var updates: [HTTP2Frame] = []
        for _ in 0..<4 {
            try stage.receive(HTTP2Frame(.data, stream: stream.id, payload: [UInt8](repeating: 0, count: 16_384)))
            updates += try HTTP2Frame.parse(stage.frames()[...])
        }
        #expect(updates.allSatisfy { $0.stream == 0 } && stage.session.takeEnded().isEmpty)
        try stage.receive(HTTP2Frame(.data, stream: stream.id, payload: [0]))
        #expect(stage.session.takeEnded().count == 1)
        #expect(stream.failure == .tooLarge)
    }

    @Test @Loop func `after some streams without a reply no further request is sent`() throws {
        let stage = try Stage()
        for number in 0..<HTTPLimits.lostStreams {
            #expect(stage.session.mayOpen)
            let stream = try stage.open()
            if number % 2 == 0 {
                stage.session.reset(stream)
            } else {
                try stage.receive(HTTP2Frame(.reset, stream: stream.id, payload: [0, 0, 0, 2]))
            }
            _ = try stage.frames()
        }
        #expect(!stage.session.mayOpen && !stage.session.isOver)
    }
}

/// A session whose server has sent its settings, and the streams that must be retained for it.
@Loop
private final class Stage {
    let session: HTTP2Session
    private var streams: [HTTPStream] = []

    /// - Parameter isAcknowledged: whether the server has acknowledged our settings.
    init(isAcknowledged: Bool = true) throws {
        session = try HTTP2Session(authority: "service.example")
        _ = try frames()
        try receive(HTTP2Frame(.settings))
        if isAcknowledged { try receive(HTTP2Frame(.settings, flags: Frames.acknowledgement)) }
        _ = try frames()
    }

    /// Sends a request.
    func open(_ request: HTTPRequest = HTTPRequest(target: "/d?host=www.example.com")) throws -> HTTPStream {
        let stream = try queue(request)
        _ = try frames()
        return stream
    }

    /// Queues a request to be sent.
    func queue(_ request: HTTPRequest = HTTPRequest(target: "/d?host=www.example.com")) throws -> HTTPStream {
        let stream = HTTPStream(request, at: Instant(nanoseconds: 0))
        try session.open(stream, path: request.target)
        streams.append(stream)
        return stream
    }

    /// The bytes to be sent.
    func frames() throws -> [UInt8] {
        var bytes: [UInt8] = []
        try session.takeFrames(into: &bytes, limit: .max)
        return bytes
    }

    /// The streams of the requests that are to be sent.
    func sentRequests() throws -> [Int32] {
        try HTTP2Frame.parse(frames()[...]).filter { $0.type == .headers }.map(\.stream)
    }

    func receive(_ frame: HTTP2Frame) throws {
        try frame.bytes.withUnsafeBytes { try session.receive($0, at: Instant(nanoseconds: 0)) }
    }

    /// Whether the session has ended after these bytes.
    func isRefused(_ bytes: [UInt8]) -> Bool {
        do {
            try bytes.withUnsafeBytes { try session.receive($0, at: Instant(nanoseconds: 0)) }
            _ = try frames()
            return session.isOver
        } catch {
            return true
        }
    }
}
