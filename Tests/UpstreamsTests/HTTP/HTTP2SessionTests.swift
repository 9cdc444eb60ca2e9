import DNSWire
import HTTPDNS
import Platform
import TestSupport
import Testing

@testable import Upstreams

/// HTTP/2 without a network: frames that a server might send, byte by byte.
@Suite(.onLoop) struct HTTP2SessionTests {
    @Test @Loop func `a body follows in frames of its own`() throws {
        let stage = try Stage()
        let body = [UInt8](repeating: 7, count: 20_000)
        let stream = try stage.queue(HTTPRequest(target: "/dns-query", body: body))
        let data = try stage.frames().filter { $0.kind == .data && $0.stream == stream.number }
        #expect(data.flatMap(\.payload) == body)
        #expect(data.map(\.endsStream) == [false, true])
    }

    // MARK: Replies

    @Test @Loop func `an informational header has no effect`() throws {
        let stage = try Stage()
        let stream = try stage.open()
        try stage.receive(stream.reply(status: "103", fields: [("age", "9"), ("content-type", "text/a")]))
        try stage.receive(stream.reply(fields: [("content-type", "text/b")], ends: true))
        #expect(stream.response.status == 200 && stream.response.contentType == "text/b")
        #expect(stream.response.age == nil)
    }

    @Test @Loop func `a trailer has no effect, and with it the reply is whole, not before`() throws {
        let stage = try Stage()
        let stream = try stage.open()
        try stage.receive(stream.reply(fields: [("age", "7")]))
        try stage.receive(Frames.frame(.data, on: stream.number, [1]))
        #expect(stage.session.takeEnded().isEmpty)
        try stage.receive(Frames.headers(stream.number, [("age", "9")]))
        #expect(stage.session.takeEnded().map(\.code) == [.none])
        #expect(stream.response.age == 7 && stream.response.body == [1])
    }

    @Test @Loop func `when the server says goodbye, what it has not taken ends, and nothing more may be sent`() throws {
        let stage = try Stage()
        let taken = try stage.open()
        let refused = try stage.open()
        try stage.receive(Frames.frame(.goaway, Frames.number(taken.number) + Frames.number(0)))
        #expect(stage.session.takeEnded().map { $0.stream === refused } == [true])
        #expect(!stage.session.mayOpen && !stage.session.isOver)
        try stage.receive(taken.reply(ends: true))
        #expect(stage.session.takeEnded().map { $0.stream === taken } == [true])
        #expect(stage.session.isOver)
    }

    @Test @Loop func `a request that was not sent when the server said goodbye is refused`() throws {
        let stage = try Stage()
        let stream = try stage.queue()
        try stage.receive(Frames.frame(.goaway, Frames.number(0) + Frames.number(0)))
        _ = try stage.frames()
        let ended = stage.session.takeEnded()
        #expect(ended.map { $0.stream === stream && $0.code == HTTP2Code.refusedStream } == [true])
    }

    // MARK: Hostile servers

    @Test @Loop func `a header over its limit ends the stream, and the rest of it is not read`() throws {
        let stage = try Stage()
        let stream = try stage.open()
        // A field of 4,000 bytes that is added to the table (RFC 7541 section 6.2.1), and four references to it of one
        // byte each.
        let field = [0x40] + Frames.text("x-a") + Frames.text(String(repeating: "x", count: 4_000))
        let status = Frames.block([(":status", "200")])
        let references = [UInt8](repeating: 0x80 | 62, count: 4)
        try stage.receive(
            Frames.frame(.headers, flags: Frames.endHeaders, on: stream.number, status + field + references))
        #expect(stage.session.takeEnded().count == 1)
        #expect(stream.failure == .unusable("the reply is larger than the limit"))
        // INTERNAL_ERROR: nghttp2 itself has ended it.
        #expect(try stage.frames().map(\.code) == [2])
    }

    @Test @Loop func `a reply without a status ends its stream alone`() throws {
        let stage = try Stage()
        let (broken, good) = (try stage.open(), try stage.open())
        try stage.receive(Frames.headers(broken.number, [("age", "9")], flags: Frames.endHeaders))
        _ = try stage.frames()
        #expect(stage.session.takeEnded().map { $0.stream === broken && $0.code != .none } == [true])
        try stage.receive(good.reply(ends: true))
        #expect(stage.session.takeEnded().map(\.code) == [.none])
    }

    @Test @Loop func `a reply that is pushed before the server knows that we want none changes no other`() throws {
        let stage = try Stage(isAcknowledged: false)
        let stream = try stage.open()
        try stage.receive(stream.reply(fields: [("content-type", "text/a")]))
        // It has not acknowledged our settings (RFC 9113 section 6.5.3).
        let request = Frames.block(Frames.request() + [("content-type", "text/b"), ("age", "9")])
        try stage.receive(Frames.frame(.push, flags: Frames.endHeaders, on: stream.number, Frames.number(2) + request))
        #expect(try stage.frames().map(\.kind) == [.reset])
        try stage.receive(Frames.frame(.data, flags: Frames.endStream, on: stream.number, [1]))
        #expect(stage.session.takeEnded().map(\.code) == [.none])
        let response = stream.response
        #expect(response.status == 200 && response.contentType == "text/a" && response.age == nil)
    }

    /// Frames that are no part of a response: of a request that is under way, of one that is answered, or of one that was
    /// cancelled.
    struct Flood: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let frame: @Sendable (_ open: UInt32, _ answered: UInt32, _ cancelled: UInt32) -> [UInt8]

        init(_ text: String, _ frame: @escaping @Sendable (UInt32, UInt32, UInt32) -> [UInt8]) {
            (testDescription, self.frame) = (text, frame)
        }
    }

    private static let eight = [UInt8](repeating: 1, count: 8)

    private static let floods: [Flood] = [
        Flood("empty DATA") { open, _, _ in Frames.frame(.data, on: open) },
        Flood("DATA that is padding") { open, _, _ in
            Frames.frame(.data, flags: Frames.padded, on: open, [255] + [UInt8](repeating: 0, count: 255))
        },
        Flood("informational headers") { open, _, _ in
            Frames.headers(open, [(":status", "103")], flags: Frames.endHeaders)
        },
        Flood("DATA after a reply") { _, answered, _ in Frames.frame(.data, on: answered, [1]) },
        Flood("DATA of a cancelled request") { _, _, cancelled in Frames.frame(.data, on: cancelled, [1]) },
        Flood("PING") { _, _, _ in Frames.frame(.ping, eight) },
        Flood("answers to PING") { _, _, _ in Frames.frame(.ping, flags: Frames.acknowledgement, eight) },
        Flood("SETTINGS") { _, _, _ in Frames.frame(.settings) },
        Flood("WINDOW_UPDATE") { _, _, _ in Frames.window(1) },
        Flood("WINDOW_UPDATE of a stream") { open, _, _ in Frames.window(1, on: open) },
        Flood("PRIORITY") { open, _, _ in Frames.frame(.priority, on: open, [0, 0, 0, 0, 9]) },
        Flood("RST_STREAM") { _, answered, _ in Frames.frame(.reset, on: answered, Frames.number(8)) },
        Flood("GOAWAY") { _, _, cancelled in Frames.frame(.goaway, Frames.number(cancelled) + Frames.number(0)) },
        Flood("unknown frames") { _, _, _ in Frames.frame(.unknown, [1]) },
        Flood("PUSH_PROMISE") { open, _, _ in
            Frames.frame(.push, flags: Frames.endHeaders, on: open, Frames.number(2) + [0x82, 0x84, 0x87])
        },
    ]

    @Test(arguments: floods) @Loop func `a flood of frames that are no replies ends the connection`(flood: Flood) throws
    {
        let stage = try Stage()
        let (open, answered, cancelled) = (try stage.open(), try stage.open(), try stage.open())
        try stage.receive(answered.reply(ends: true))
        stage.session.reset(cancelled)
        _ = try stage.frames()
        let frame = flood.frame(open.number, answered.number, cancelled.number)
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
                try stage.receive(Frames.frame(.ping, Self.eight) + Frames.window(9))
                try stage.receive(Frames.frame(.unknown, [UInt8](repeating: 1, count: 40)))
            }
            if number % 100 == 0 { try stage.receive(Frames.settings((3, 100))) }
            try stage.receive(stream.reply(fields: [("a", String(repeating: "x", count: 400))]))
            let body = Frames.frame(.data, on: stream.number, [UInt8](repeating: 1, count: 100))
            for _ in 0..<5 { try stage.receive(body) }
            try stage.receive(Frames.frame(.data, flags: Frames.endStream, on: stream.number))
            _ = try stage.frames()
            #expect(stage.session.takeEnded().map(\.code) == [.none])
        }
    }

    @Test @Loop func `the first bytes say that we want no pushes, and one byte over a body's limit at most`() throws {
        let session = try HTTP2Session(authority: "service.example")
        var sent: [UInt8] = []
        try session.takeFrames(into: &sent, limit: .max)
        #expect(sent.starts(with: Frames.preface))
        var frames = Array(sent.dropFirst(Frames.preface.count))
        let settings = try #require(Frames.take(from: &frames).first)
        // SETTINGS_ENABLE_PUSH and SETTINGS_INITIAL_WINDOW_SIZE.
        #expect(settings.kind == .settings)
        #expect(settings.payload.starts(with: Frames.setting(2, 0) + Frames.setting(4, 65_537)))
    }

    @Test @Loop func `the window of a body over its limit is not opened again, and its stream ends alone`() throws {
        let stage = try Stage()
        let (stream, other) = (try stage.open(), try stage.open())
        try stage.receive(stream.reply())
        var updates: [Frames.Frame] = []
        for _ in 0..<4 {
            try stage.receive(Frames.frame(.data, on: stream.number, [UInt8](repeating: 0, count: 16_384)))
            updates += try stage.frames()
        }
        #expect(updates.allSatisfy { $0.stream == 0 } && stage.session.takeEnded().isEmpty)
        try stage.receive(Frames.frame(.data, on: stream.number, [0]))
        #expect(stage.session.takeEnded().count == 1)
        #expect(stream.failure == .tooLarge)
        try stage.receive(other.reply(ends: true))
        #expect(stage.session.takeEnded().map(\.code) == [.none])
    }

    @Test @Loop func `after some streams without a reply no further request is sent`() throws {
        let stage = try Stage()
        for number in 0..<HTTPLimits.lostStreams {
            #expect(stage.session.mayOpen)
            let stream = try stage.open()
            if number % 2 == 0 {
                stage.session.reset(stream)
            } else {
                try stage.receive(Frames.frame(.reset, on: stream.number, Frames.number(2)))
            }
            _ = try stage.frames()
        }
        #expect(!stage.session.mayOpen && !stage.session.isOver)
    }
}

extension HTTPStream {
    fileprivate var number: UInt32 { UInt32(bitPattern: id) }

    /// The header of its response.
    fileprivate func reply(status: String = "200", fields: [Frames.Field] = [], ends: Bool = false) -> [UInt8] {
        Frames.headers(number, [(":status", status)] + fields, flags: Frames.endHeaders | (ends ? Frames.endStream : 0))
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
        try receive(Frames.frame(.settings))
        if isAcknowledged { try receive(Frames.frame(.settings, flags: Frames.acknowledgement)) }
        _ = try frames()
    }

    /// Sends a request.
    func open() throws -> HTTPStream {
        let stream = try queue()
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

    /// The frames to be sent.
    func frames() throws -> [Frames.Frame] {
        var bytes: [UInt8] = []
        try session.takeFrames(into: &bytes, limit: .max)
        return Frames.take(from: &bytes)
    }

    func receive(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { try session.receive($0, at: Instant(nanoseconds: 0)) }
    }

    /// Whether the session has ended after these bytes.
    func isRefused(_ bytes: [UInt8]) -> Bool {
        do {
            try receive(bytes)
            _ = try frames()
            return session.isOver
        } catch {
            return true
        }
    }
}
