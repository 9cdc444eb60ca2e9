import TestSupport
import Testing

@testable import DNSServer

/// Rules of HTTP/2 by their sections in RFC 9113: those of streams, which nghttp2 leaves to us where it does not remember closed
/// ones, and of each other kind one that shows that its verdict is ours.
struct HTTP2ConformanceTests {
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
        Case("4.2 a DATA frame is too large", open + Frames.frame(.data, on: 1, [], length: 16_385), .frameSize),
        Case("4.3 a header cannot be decoded", Frames.frame(.headers, flags: 5, on: 1, [0x40]), .compression),
        Case("5.1 DATA on an idle stream", Frames.frame(.data, flags: 1, on: 1, [1]), .protocolError),
        Case("5.1 RST_STREAM on an idle stream", Frames.frame(.reset, on: 1, [0, 0, 0, 8]), .protocolError),
        Case("5.1 WINDOW_UPDATE on an idle stream", Frames.window(1, on: 1), .protocolError),
        Case("5.1 CONTINUATION on an idle stream", Frames.frame(.continuation, flags: 4, on: 1), .protocolError),
        Case(
            "5.1 HEADERS on a stream that both sides have ended", Frames.headers(1) + Frames.headers(1), .closed,
            .protocolError),
        Case("5.1.1 an even stream identifier", Frames.headers(2), .protocolError),
        Case("5.1.1 a stream identifier that was skipped", Frames.headers(5) + Frames.headers(3), .protocolError),
        Case("5.1.1 the first identifiers are skipped", Frames.headers(9) + Frames.headers(1), .protocolError),
        Case("6.3 PRIORITY on stream 0", Frames.frame(.priority, [0, 0, 0, 0, 1]), .protocolError),
        Case("6.8 GOAWAY on a stream", Frames.frame(.goaway, on: 1, [UInt8](repeating: 0, count: 8)), .protocolError),
        Case("6.9.1 a window of the connection over its limit", Frames.window(0x7fff_ffff), .flowControl),
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

    // MARK: A stream ends

    static let resetting: [Case] = [
        Case("5.1 DATA on a half-closed stream", Frames.headers(1) + Frames.frame(.data, on: 1, [1]), .closed),
        Case("6.9.1 a window of a stream over its limit", open + Frames.window(0x7fff_ffff, on: 1), .flowControl),
        Case("8.1 a trailer that is not the end", open + Frames.headers(1, [("a", "b")], flags: 4), .protocolError),
        Case(
            "8.1.1 less than content-length", Frames.post(1, [1, 2], fields: [("content-length", "3")]), .protocolError),
        Case(
            "8.1.1 more than content-length in two frames",
            Frames.post(1, [1, 2], [3], fields: [("content-length", "2")]), .protocolError),
        Case("8.2.1 a name in upper case", get(adding: ("X-Test", "a")), .protocolError),
        Case("8.3.1 an empty path", get(Frames.request("GET", "")), .protocolError),
        Case("8.3.1 no path", get(Frames.request().filter { $0.name != ":path" }), .protocolError),
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
        Case("5.1 PRIORITY on an idle stream", Frames.frame(.priority, on: 9, [0, 0, 0, 0, 1])),
        Case("5.1 WINDOW_UPDATE on a closed stream", Frames.headers(1) + Frames.window(1, on: 1)),
        Case("5.1 RST_STREAM on a closed stream", Frames.headers(1) + Frames.frame(.reset, on: 1, [0, 0, 0, 8])),
        Case("6.2 HEADERS with padding and a priority", padded),
        Case("6.5.3 a window that is set twice", Frames.settings((4, 100), (4, 65_535))),
        Case("6.10 a header in three frames", continued),
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
