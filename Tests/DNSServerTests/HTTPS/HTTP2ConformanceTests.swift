import TestSupport
import Testing

@testable import DNSServer

/// The rules of HTTP/2 that h2spec checks of a server, by their sections in RFC 9113.
@Suite struct HTTP2ConformanceTests {
    /// An error code (RFC 9113 section 7).
    enum Code: UInt32 {
        case none, protocolError, internalError, flowControl, settingsTimeout, closed, frameSize, refused, cancelled
        case compression, connect, calm
    }

    /// What a client sends after the greeting, and what is wrong with it.
    struct Case: CustomTestStringConvertible, Sendable {
        let text: String
        let bytes: [UInt8]
        let codes: [Code]

        init(_ text: String, _ bytes: [UInt8], _ codes: Code...) {
            (self.text, self.bytes, self.codes) = (text, bytes, codes)
        }

        var testDescription: String { text }
    }

    private static func get(_ fields: [Frames.Field]) -> [UInt8] { Frames.headers(1, fields) }
    private static func get(adding fields: Frames.Field...) -> [UInt8] { get(Frames.request() + fields) }
    /// A request whose body has not begun.
    private static let open = Frames.headers(1, Frames.request("POST"), flags: Frames.endHeaders)

    // MARK: The connection ends

    static let fatal: [Case] = [
        Case("4.2 a HEADERS frame is too large", Frames.frame(.headers, on: 1, [], length: 16_385), .frameSize),
        Case("4.2 a DATA frame is too large", open + Frames.frame(.data, on: 1, [], length: 16_385), .frameSize),
        Case("4.3 a header cannot be decoded", Frames.frame(.headers, flags: 5, on: 1, [0x40]), .compression),
        Case(
            "4.3 an index is out of the table", Frames.frame(.headers, flags: 5, on: 1, [0xff, 0x80, 1]), .compression),
        Case(
            "4.3 a PRIORITY frame interrupts a header",
            Frames.headers(1, flags: 1) + Frames.frame(.priority, on: 1, [0, 0, 0, 0, 1]), .protocolError),
        Case(
            "4.3 a header of another stream interrupts a header", Frames.headers(1, flags: 1) + Frames.headers(3),
            .protocolError),
        Case("5.1 DATA on an idle stream", Frames.frame(.data, flags: 1, on: 1, [1]), .protocolError),
        Case("5.1 RST_STREAM on an idle stream", Frames.frame(.reset, on: 1, [0, 0, 0, 8]), .protocolError),
        Case("5.1 WINDOW_UPDATE on an idle stream", Frames.window(1, on: 1), .protocolError),
        Case("5.1 CONTINUATION on an idle stream", Frames.frame(.continuation, flags: 4, on: 1), .protocolError),
        Case(
            "5.1 HEADERS on a stream that both sides have ended", Frames.headers(1) + Frames.headers(1), .closed,
            .protocolError),
        Case("5.1.1 an even stream identifier", Frames.headers(2), .protocolError),
        Case(
            "5.5 an unknown frame interrupts a header",
            Frames.headers(1, flags: 1) + Frames.frame(0x16, on: 1, [0, 0]), .protocolError),
        Case("6.1 DATA on stream 0", Frames.frame(.data, flags: 1, [1]), .protocolError),
        Case(
            "6.1 DATA with more padding than bytes", open + Frames.frame(.data, flags: 9, on: 1, [9, 1]), .protocolError
        ),
        Case("6.2 HEADERS on stream 0", Frames.headers(0), .protocolError),
        Case(
            "6.2 HEADERS with more padding than bytes", Frames.frame(.headers, flags: 13, on: 1, [200, 0x88]),
            .protocolError),
        Case("5.1.1 a stream identifier that was skipped", Frames.headers(5) + Frames.headers(3), .protocolError),
        Case("5.1.1 the first identifiers are skipped", Frames.headers(9) + Frames.headers(1), .protocolError),
        Case("6.3 PRIORITY on stream 0", Frames.frame(.priority, [0, 0, 0, 0, 1]), .protocolError),
        Case("6.3 PRIORITY of another length", open + Frames.frame(.priority, on: 1, [0, 1]), .frameSize),
        Case("6.4 RST_STREAM on stream 0", Frames.frame(.reset, [0, 0, 0, 8]), .protocolError),
        Case("6.4 RST_STREAM of another length", open + Frames.frame(.reset, on: 1, [0, 0, 8]), .frameSize),
        Case(
            "6.5 SETTINGS that acknowledge and set", Frames.frame(.settings, flags: 1, [0, 3, 0, 0, 0, 1]), .frameSize),
        Case("6.5 SETTINGS on a stream", Frames.frame(.settings, on: 1, []), .protocolError),
        Case("6.5 SETTINGS of another length", Frames.frame(.settings, [0, 3, 0]), .frameSize),
        Case("6.5.2 ENABLE_PUSH of 2", Frames.settings((2, 2)), .protocolError),
        Case("6.5.2 a window that is too large", Frames.settings((4, 0x8000_0000)), .flowControl),
        Case("6.5.2 frames that are too small", Frames.settings((5, 16_383)), .protocolError),
        Case("6.5.2 frames that are too large", Frames.settings((5, 0x100_0000)), .protocolError),
        Case(
            "6.6 PUSH_PROMISE of a client", open + Frames.frame(.push, flags: 4, on: 1, [0, 0, 0, 2]), .protocolError),
        Case("6.7 PING on a stream", Frames.frame(.ping, on: 1, [UInt8](repeating: 0, count: 8)), .protocolError),
        Case("6.7 PING of another length", Frames.frame(.ping, [1, 2, 3]), .frameSize),
        Case("6.8 GOAWAY on a stream", Frames.frame(.goaway, on: 1, [UInt8](repeating: 0, count: 8)), .protocolError),
        Case("6.9 WINDOW_UPDATE by 0", Frames.window(0), .protocolError),
        Case("6.9 WINDOW_UPDATE of another length", Frames.frame(.window, [0, 0, 1]), .frameSize),
        Case("6.9.1 a window of the connection over its limit", Frames.window(0x7fff_ffff), .flowControl),
        Case("6.10 CONTINUATION after the end of a header", open + Frames.frame(.continuation, on: 1), .protocolError),
        Case(
            "6.10 CONTINUATION on stream 0", Frames.headers(1, flags: 1) + Frames.frame(.continuation), .protocolError),
    ]

    @Test(arguments: fatal)
    func `a connection that breaks a rule ends with its error`(_ test: Case) throws {
        let dialogue = try HTTP2Dialogue()
        // Some errors need requests that are under way.
        dialogue.answer = { _ in nil }
        dialogue.send(test.bytes)
        #expect(dialogue.goodbye.flatMap { Code(rawValue: $0) }.map(test.codes.contains) == true)
        #expect(dialogue.session.isOver)
    }

    @Test(arguments: ["GET / HTTP/1.1\r\nHost: dns.example\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\rX"])
    func `a connection that does not begin as HTTP/2 is closed`(preface: String) throws {
        let dialogue = try HTTP2Dialogue(greets: false)
        dialogue.send(Array(preface.utf8))
        #expect(dialogue.session.isOver)
    }

    @Test func `a connection that begins with another frame than SETTINGS ends`() throws {
        let dialogue = try HTTP2Dialogue(greets: false)
        dialogue.send(Frames.preface + Frames.headers(1))
        #expect(dialogue.goodbye == Code.protocolError.rawValue)
        #expect(dialogue.requests.isEmpty)
    }

    // MARK: A stream ends

    static let resetting: [Case] = [
        Case("5.1 DATA on a half-closed stream", Frames.headers(1) + Frames.frame(.data, on: 1, [1]), .closed),
        Case("6.9 WINDOW_UPDATE of a stream by 0", open + Frames.window(0, on: 1), .protocolError),
        Case("6.9.1 a window of a stream over its limit", open + Frames.window(0x7fff_ffff, on: 1), .flowControl),
        Case("8.1 a trailer that is not the end", open + Frames.headers(1, [("a", "b")], flags: 4), .protocolError),
        Case(
            "8.1.1 less than content-length", Frames.post(1, [1, 2], fields: [("content-length", "3")]), .protocolError),
        Case(
            "8.1.1 more than content-length in two frames",
            Frames.post(1, [1, 2], [3], fields: [("content-length", "2")]), .protocolError),
        Case("8.2.1 a name in upper case", get(adding: ("X-Test", "a")), .protocolError),
        Case("8.2.2 connection", get(adding: ("connection", "keep-alive")), .protocolError),
        Case("8.2.2 transfer-encoding", get(adding: ("transfer-encoding", "chunked")), .protocolError),
        Case("8.2.2 te with more than trailers", get(adding: ("te", "trailers, deflate")), .protocolError),
        Case("8.3 an unknown pseudo-header field", get(adding: (":test", "a")), .protocolError),
        Case("8.3 the pseudo-header field of a response", get(adding: (":status", "200")), .protocolError),
        Case(
            "8.3 a pseudo-header field behind another field",
            get([("a", "b")] + Frames.request()), .protocolError),
        Case(
            "8.3 a pseudo-header field in a trailer", open + Frames.headers(1, [(":method", "GET")]), .protocolError),
        Case("8.3.1 an empty path", get(Frames.request("GET", "")), .protocolError),
        Case("8.3.1 no method", get(Array(Frames.request().dropFirst())), .protocolError),
        Case("8.3.1 no scheme", get(Frames.request().filter { $0.name != ":scheme" }), .protocolError),
        Case("8.3.1 no path", get(Frames.request().filter { $0.name != ":path" }), .protocolError),
        Case("8.3.1 two methods", get(Frames.request() + [(":method", "GET")]), .protocolError),
        Case("8.3.1 two paths", get(Frames.request() + [(":path", "/")]), .protocolError),
        Case("8.3.1 two schemes", get(Frames.request() + [(":scheme", "https")]), .protocolError),
    ]

    @Test(arguments: resetting)
    func `a stream that breaks a rule is reset, and is no request; or the connection ends`(_ test: Case) throws {
        let dialogue = try HTTP2Dialogue()
        dialogue.answer = { _ in nil }
        dialogue.send(test.bytes)
        let code = dialogue.reset(1) ?? dialogue.goodbye
        #expect(code.flatMap { Code(rawValue: $0) }.map(test.codes.contains) == true)
        // Only where the request was whole before.
        #expect(dialogue.requests.count == (test.text.hasPrefix("5.1") ? 1 : 0))
        dialogue.answer = { _ in HTTPServerResponse(.ok) }
        #expect(dialogue.goodbye != nil || dialogue.serves(3))
    }

    // MARK: What must not matter

    static let harmless: [Case] = [
        Case(
            "5.1 HEADERS on a closed stream, which others were skipped for",
            Frames.headers(3) + Frames.frame(.reset, on: 3, [0, 0, 0, 8]) + Frames.headers(5) + Frames.headers(3)),
        Case("4.1 an unknown frame", Frames.frame(0x16, flags: 0xff, on: 0, [1, 2, 3])),
        Case("4.1 flags that are not defined", Frames.frame(.ping, flags: 0x16, [UInt8](repeating: 1, count: 8))),
        Case("4.1 the reserved bit", Frames.frame(.ping, on: 0x8000_0000, [UInt8](repeating: 1, count: 8))),
        Case("5.1 PRIORITY on an idle stream", Frames.frame(.priority, on: 9, [0, 0, 0, 0, 1])),
        Case("5.1 WINDOW_UPDATE on a closed stream", Frames.headers(1) + Frames.window(1, on: 1)),
        Case("5.1 RST_STREAM on a closed stream", Frames.headers(1) + Frames.frame(.reset, on: 1, [0, 0, 0, 8])),
        Case("5.3 a stream that depends on itself", Frames.frame(.priority, on: 9, [0, 0, 0, 9, 1])),
        Case("6.2 HEADERS with padding and a priority", padded),
        Case("6.5.2 an unknown setting", Frames.settings((0xff, 1))),
        Case("6.5.3 a window that is set twice", Frames.settings((4, 100), (4, 65_535))),
        Case("6.7 an acknowledged PING", Frames.frame(.ping, flags: 1, [UInt8](repeating: 1, count: 8))),
        Case("6.9.1 more room", Frames.window(1_000)),
        Case("6.10 a header in three frames", continued),
        Case("8.2.2 te with trailers", Frames.headers(1, Frames.request() + [("te", "trailers")])),
    ]

    private static let padded: [UInt8] = {
        let block = Frames.block(Frames.request())
        return Frames.frame(.headers, flags: 0x2d, on: 1, [3, 0, 0, 0, 0, 10] + block + [0, 0, 0])
    }()

    private static let continued: [UInt8] = {
        let block = Frames.block(Frames.request())
        return Frames.frame(.headers, flags: 1, on: 1, Array(block.prefix(5)))
            + Frames.frame(.continuation, on: 1, Array(block.dropFirst(5).prefix(9)))
            + Frames.frame(.continuation, flags: 4, on: 1, Array(block.dropFirst(14)))
    }()

    @Test(arguments: harmless)
    func `a connection goes on after what is allowed or to be ignored`(_ test: Case) throws {
        let dialogue = try HTTP2Dialogue()
        dialogue.send(test.bytes)
        #expect(dialogue.serves(11))
        #expect(dialogue.goodbye == nil)
    }

    @Test(arguments: [padded, continued])
    func `a header with padding, or in several frames, is read whole`(bytes: [UInt8]) throws {
        let dialogue = try HTTP2Dialogue()
        // Not smaller ones: nghttp2 counts the parts of a frame's head as frames, of which a header may have eight.
        dialogue.send(bytes, inPartsOf: 7)
        #expect(dialogue.requests.map { String(decoding: $0.target, as: UTF8.self) } == ["/dns-query?dns=AAAA"])
    }

    @Test func `SETTINGS and PING are acknowledged with what they had`() throws {
        let dialogue = try HTTP2Dialogue()
        let acknowledged = dialogue.frames.filter { $0.kind == Frames.Kind.settings.rawValue && $0.flags == 1 }
        #expect(acknowledged.count == 1)
        dialogue.send(Frames.frame(.ping, [1, 2, 3, 4, 5, 6, 7, 8]))
        #expect(dialogue.frames.last == .init(kind: 6, flags: 1, stream: 0, payload: [1, 2, 3, 4, 5, 6, 7, 8]))
    }

    @Test func `a response waits for the client's window, whatever its size becomes`() throws {
        let dialogue = try HTTP2Dialogue(settings: (4, 1))
        dialogue.send(Frames.headers(1))
        #expect(dialogue.responses[1]?.body == Array("a".utf8))
        dialogue.send(Frames.settings((4, 3)))
        #expect(dialogue.responses[1]?.body == Array("ans".utf8))
        // The window becomes negative, and then positive again.
        dialogue.send(Frames.settings((4, 0)) + Frames.window(4, on: 1))
        #expect(dialogue.responses[1]?.body == Array("answ".utf8))
        dialogue.send(Frames.window(10, on: 1))
        #expect(dialogue.responses[1]?.body == Array("answer".utf8))
        #expect(dialogue.responses[1]?.isComplete == true)
    }

    @Test func `a request past the limit of streams is refused, and the others are answered`() throws {
        let dialogue = try HTTP2Dialogue()
        dialogue.answer = { _ in nil }
        for stream in 0..<101 { dialogue.send(Frames.headers(UInt32(2 * stream + 1))) }
        #expect(dialogue.requests.count == 100)
        #expect(dialogue.reset(201) == Code.refused.rawValue || dialogue.goodbye == Code.protocolError.rawValue)
    }
}
