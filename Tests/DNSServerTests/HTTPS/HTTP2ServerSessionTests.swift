import Platform
import TestSupport
import Testing

@testable import DNSServer

/// What a session makes of honest and hostile clients.
struct HTTP2ServerSessionTests {
    private static let calm: UInt32 = 11

    @Test func `a GET and a POST are read, and answered with fields and body`() throws {
        let dialogue = try HTTP2Dialogue()
        dialogue.answer = {
            HTTPServerResponse(
                .ok, contentType: "application/dns-message", maxAge: 60, body: $0.body + [7],
                fields: [("allow", "GET")])
        }
        dialogue.send(Frames.headers(1) + Frames.post(3, [1, 2], [], [3]))
        #expect(dialogue.requests.map(\.method) == [.get, .post])
        #expect(dialogue.requests.map(\.body) == [[], [1, 2, 3]])
        #expect(dialogue.requests.map(\.isDNSMessage) == [nil, true])
        #expect(
            dialogue.responses[1]?.fields == [
                ":status": "200", "content-type": "application/dns-message", "content-length": "1",
                "cache-control": "max-age=60", "allow": "GET",
            ])
        #expect(dialogue.responses[3]?.body == [1, 2, 3, 7])
        #expect(dialogue.responses[3]?.isComplete == true)
        #expect(dialogue.session.held == 0)
    }

    @Test func `the client learns the limits at once: 100 requests, 64 KiB of body, 8 KiB of header`() throws {
        let frames = try HTTP2Dialogue().frames
        #expect(frames.first?.kind == .settings)
        let settings: [(UInt16, UInt32)] = [(3, 100), (4, 65_536), (6, 8_192), (9, 1)]
        #expect(frames.first?.payload == settings.flatMap { Frames.setting($0.0, $0.1) })
        let window = frames.first { $0.kind == .window }
        #expect(window?.payload == Frames.number(262_144 - 65_535))
    }

    @Test func `output is taken until there is as much as wanted, and no frame more`() throws {
        let session = try #require(HTTP2ServerSession(in: HTTPSessionShare()))
        // SETTINGS of four entries, and WINDOW_UPDATE.
        let counts = [33, 1, 1].map { limit in
            var output: [UInt8] = []
            session.takeOutput(into: &output, limit: limit)
            return output.count
        }
        #expect(counts == [33, 13, 0])
    }

    @Test func `the longest body is read, and one byte more resets the stream`() throws {
        let dialogue = try HTTP2Dialogue()
        func body(_ count: Int) -> [[UInt8]] {
            stride(from: 0, to: count, by: 16_384).map { [UInt8](repeating: 1, count: min(16_384, count - $0)) }
        }
        for (stream, count) in [(UInt32(1), HTTPServerLimits.body), (3, HTTPServerLimits.body + 1)] {
            dialogue.send(Frames.headers(stream, Frames.request("POST"), flags: 4))
            let parts = body(count)
            for (index, part) in parts.enumerated() {
                dialogue.send(Frames.frame(.data, flags: index == parts.count - 1 ? 1 : 0, on: stream, part))
            }
        }
        #expect(dialogue.requests.map(\.body.count) == [HTTPServerLimits.body])
        #expect(dialogue.reset(3) != nil)
        // No window is lost to the bodies.
        for stream in 0..<20 {
            dialogue.send(Frames.post(UInt32(2 * stream + 5), [UInt8](repeating: 1, count: 16_000)))
        }
        #expect(dialogue.requests.count == 21)
        #expect(dialogue.goodbye == nil)
    }

    @Test(arguments: ["65536", "99999999999999999999", "1x"])
    func `a body that says it is too long is not waited for`(length: String) throws {
        let dialogue = try HTTP2Dialogue()
        dialogue.send(Frames.headers(1, Frames.request("POST") + [("content-length", length)], flags: 4))
        #expect(dialogue.reset(1) != nil)
        #expect(dialogue.serves(3))
    }

    @Test func `a response to a stream that the client has reset goes nowhere`() throws {
        let dialogue = try HTTP2Dialogue()
        dialogue.session.receive(Frames.headers(1)[...])
        let stream = try #require(dialogue.session.nextRequest())
        dialogue.send(Frames.frame(.reset, on: 1, [0, 0, 0, 8]))
        dialogue.session.respond(HTTPServerResponse(.ok, body: [1]), to: stream)
        dialogue.turn()
        #expect(dialogue.responses.isEmpty)
        #expect(dialogue.session.held == 0)
        #expect(dialogue.serves(3))
    }

    @Test func `a request that was reset before it was taken is not returned`() throws {
        let dialogue = try HTTP2Dialogue()
        dialogue.session.receive((Frames.headers(1) + Frames.frame(.reset, on: 1, [0, 0, 0, 8]))[...])
        #expect(dialogue.session.nextRequest() == nil)
    }

    @Test func `an honest client on a long connection never comes near the budget`() throws {
        let dialogue = try HTTP2Dialogue()
        for index in 0..<20_000 {
            let stream = UInt32(2 * index + 1)
            dialogue.send(
                Frames.post(stream, [UInt8](repeating: 1, count: 128)) + Frames.window(128)
                    + Frames.window(128, on: stream) + Frames.frame(.priority, on: stream, [0, 0, 0, 0, 1])
                    + Frames.frame(.ping, [UInt8](repeating: 1, count: 8)))
        }
        #expect(dialogue.requests.count == 20_000)
        #expect(dialogue.goodbye == nil)
    }

    @Test func `a client that gives up each tenth request is served on`() throws {
        let dialogue = try HTTP2Dialogue()
        for index in 0..<5_000 {
            let stream = UInt32(2 * index + 1)
            if index.isMultiple(of: 10) { dialogue.answer = { _ in nil } }
            dialogue.send(Frames.headers(stream))
            guard index.isMultiple(of: 10) else { continue }
            dialogue.send(Frames.frame(.reset, on: stream, [0, 0, 0, 8]))
            dialogue.answer = { _ in HTTPServerResponse(.ok, body: [1]) }
        }
        #expect(dialogue.goodbye == nil)
    }

    @Test func `what a client sends beside requests has a budget, and a byte past it ends the connection`() throws {
        let dialogue = try HTTP2Dialogue()
        // The preface and two empty frames of settings came before.
        var left = HTTPServerLimits.overhead - Frames.preface.count - 2 * 9
        while left > 0 {
            let length = min(left, 16_384)
            dialogue.send(Frames.frame(0x16, [UInt8](repeating: 1, count: length - 9)))
            left -= length
        }
        #expect(dialogue.goodbye == nil)
        dialogue.send([0])
        #expect(dialogue.goodbye == Self.calm)
    }

    // MARK: Floods

    /// What a hostile client sends without end; each step may use another stream.
    struct Flood: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let opening: [UInt8]
        let step: @Sendable (UInt32) -> [UInt8]

        init(_ text: String, opening: [UInt8] = [], _ step: @escaping @Sendable (UInt32) -> [UInt8]) {
            (testDescription, self.opening, self.step) = (text, opening, step)
        }
    }

    private static let open = Frames.headers(1, Frames.request("POST"), flags: Frames.endHeaders)

    static let floods: [Flood] = [
        Flood("streams that are reset at once") {
            Frames.headers($0) + Frames.frame(.reset, on: $0, [0, 0, 0, 8])
        },
        Flood("streams that the server has to reset") {
            Frames.headers($0, Frames.request("POST"), flags: 4) + Frames.window(0, on: $0)
        },
        Flood("streams past the limit") { Frames.headers($0, Frames.request("POST"), flags: 4) },
        Flood("requests with a wrong header") { Frames.headers($0, [("A", "b")]) },
        Flood("a header without an end", opening: Frames.headers(1, flags: 1)) { _ in
            Frames.frame(.continuation, on: 1, Frames.block([("a", "b")]))
        },
        Flood("empty parts of a header", opening: Frames.headers(1, flags: 1)) { _ in
            Frames.frame(.continuation, on: 1)
        },
        Flood("SETTINGS") { _ in Frames.settings((4, 65_535)) },
        Flood("PING") { _ in Frames.frame(.ping, [UInt8](repeating: 1, count: 8)) },
        Flood("empty DATA", opening: open) { _ in Frames.frame(.data, on: 1) },
        Flood("DATA that is padding", opening: open) { _ in
            Frames.frame(.data, flags: 8, on: 1, [100] + [UInt8](repeating: 0, count: 100))
        },
        Flood("DATA of one byte each") {
            Frames.headers($0, Frames.request("POST"), flags: 4) + Frames.frame(.data, on: $0, [1])
        },
        Flood("WINDOW_UPDATE") { _ in Frames.window(1) },
        Flood("PRIORITY") { Frames.frame(.priority, on: $0, [0, 0, 0, 0, 1]) },
        Flood("unknown frames") { _ in Frames.frame(0x16, [UInt8](repeating: 1, count: 100)) },
        Flood("GOAWAY", opening: open) { _ in Frames.frame(.goaway, [UInt8](repeating: 0, count: 8)) },
    ]

    @Test(arguments: floods)
    func `a flood ends the connection after some tens of KiB, and holds no memory`(_ flood: Flood) throws {
        let memory = HTTPSessionShare()
        let dialogue = try HTTP2Dialogue(in: memory)
        dialogue.answer = { _ in nil }
        dialogue.send(flood.opening)
        var sent = 0
        var stream: UInt32 = 3
        while !dialogue.session.isOver, sent < 1 << 20 {
            let bytes = flood.step(stream)
            dialogue.send(bytes)
            sent += bytes.count
            stream += 2
        }
        #expect(dialogue.session.isOver)
        #expect(sent <= 2 * HTTPServerLimits.overhead)
        #expect(dialogue.session.held <= HTTPServerLimits.window)
        #expect(memory.slots.resident <= HTTP2SessionMemoryTests.session)
    }

    @Test func `a field of one byte that stands for thousands costs its stream, not memory`() throws {
        let dialogue = try HTTP2Dialogue()
        // The first request puts a field of 4,000 bytes into the table; the next ones name it 4,000 times.
        let value = String(repeating: "a", count: 4_000)
        let indexed: [UInt8] = [0x40] + Frames.block([("x", value)]).dropFirst()
        dialogue.send(Frames.frame(.headers, flags: 5, on: 1, Frames.block(Frames.request()) + indexed))
        #expect(dialogue.requests.count == 1)
        for stream in 1...3 {
            let bomb = Frames.block(Frames.request()) + [UInt8](repeating: 0xbe, count: 4_000)
            dialogue.send(Frames.frame(.headers, flags: 5, on: UInt32(2 * stream + 1), bomb))
            #expect(dialogue.reset(UInt32(2 * stream + 1)) != nil || dialogue.goodbye != nil)
        }
        #expect(dialogue.requests.count == 1)
        #expect(dialogue.session.held == 0)
    }

    @Test func `a header of many fields, or of one long one, is refused`() throws {
        let dialogue = try HTTP2Dialogue()
        let many = (0..<250).map { ("x\($0)", "") }
        dialogue.send(Frames.headers(1, Frames.request() + many))
        dialogue.send(Frames.headers(3, Frames.request("GET", "/" + String(repeating: "a", count: 8_200))))
        #expect(dialogue.requests.isEmpty)
        #expect(dialogue.reset(1) != nil)
        #expect(dialogue.reset(3) != nil)
        #expect(dialogue.serves(5))
    }

    @Test func `a client that takes nothing has its answers to PING bounded, and is not read`() throws {
        let session = try #require(HTTP2ServerSession(in: HTTPSessionShare()))
        session.receive((Frames.preface + Frames.frame(.settings))[...])
        var pings = 0
        while !session.isSaturated, !session.isOver, pings < 10_000 {
            session.receive(Frames.frame(.ping, [UInt8](repeating: 1, count: 8))[...])
            pings += 1
        }
        #expect(pings <= HTTPServerLimits.queuedFrames + 1)
    }

    @Test(arguments: [(256, false), (257, true)])
    func `256 answers to PING may wait while more is read, and one more ends the connection`(
        count: Int, isOver: Bool
    ) throws {
        let dialogue = try HTTP2Dialogue()
        let pings = (0..<count).flatMap { _ in Frames.frame(.ping, [UInt8](repeating: 1, count: 8)) }
        dialogue.session.receive(pings[...])
        #expect(dialogue.session.isOver == isOver)
        #expect(isOver || !dialogue.session.isSaturated)
    }

    @Test func `responses that no window lets through are counted, until the stream ends`() throws {
        let dialogue = try HTTP2Dialogue(settings: (4, 0))
        dialogue.answer = { _ in HTTPServerResponse(.ok, body: [UInt8](repeating: 1, count: 1_000)) }
        for index in 0..<10 { dialogue.send(Frames.headers(UInt32(2 * index + 1))) }
        #expect(dialogue.session.unsent == 10_000)
        dialogue.send(Frames.frame(.reset, on: 1, [0, 0, 0, 8]))
        #expect(dialogue.session.unsent == 9_000)
        dialogue.send(Frames.settings((4, 1_000)))
        #expect(dialogue.session.unsent == 0)
        #expect(dialogue.session.held == 0)
        #expect(dialogue.responses.values.count { $0.isComplete } == 9)
    }

    @Test func `a stream that is open is counted with what nghttp2 takes for it, until it ends`() throws {
        let dialogue = try HTTP2Dialogue()
        for index in 0..<10 {
            dialogue.send(Frames.headers(UInt32(2 * index + 1), Frames.request("POST", "/"), flags: 4))
        }
        #expect(dialogue.session.held >= 10 * HTTPServerLimits.heldByStream)
        for index in 0..<10 { dialogue.send(Frames.frame(.reset, on: UInt32(2 * index + 1), [0, 0, 0, 8])) }
        #expect(dialogue.session.held == 0)
    }

    @Test func `a whole body gives back as much of the connection's window as it took`() throws {
        let dialogue = try HTTP2Dialogue()
        let part = [UInt8](repeating: 1, count: 16_000)
        for index in 0..<20 { dialogue.send(Frames.post(UInt32(2 * index + 1), part)) }
        #expect(dialogue.requests.count == 20)
        for index in 20..<100 where dialogue.goodbye == nil {
            let stream = UInt32(2 * index + 1)
            dialogue.send(Frames.headers(stream, Frames.request("POST"), flags: 4))
            dialogue.send(Frames.frame(.data, on: stream, part))
        }
        #expect(dialogue.goodbye == HTTP2ConformanceTests.Code.flowControl.rawValue)
        #expect(dialogue.session.held <= HTTPServerLimits.window + (16 << 10))
    }

    @Test func `a whole body gives back nothing for bodies that are unfinished`() throws {
        let dialogue = try HTTP2Dialogue()
        let part = [UInt8](repeating: 1, count: 16_000)
        for index in 0..<20 { dialogue.send(Frames.post(UInt32(2 * index + 1), part)) }
        for index in 10..<35 where dialogue.goodbye == nil {
            let stream = UInt32(4 * index + 1)
            dialogue.send(Frames.headers(stream, Frames.request("POST"), flags: 4))
            dialogue.send(Frames.frame(.data, on: stream, part))
            dialogue.send(Frames.post(stream + 2, [1]))
        }
        #expect(dialogue.goodbye == HTTP2ConformanceTests.Code.flowControl.rawValue)
    }

    @Test func `a session that finishes answers what it has, and takes no more`() throws {
        let dialogue = try HTTP2Dialogue()
        dialogue.session.receive(Frames.headers(1)[...])
        let stream = try #require(dialogue.session.nextRequest())
        dialogue.session.finish()
        dialogue.turn()
        #expect(dialogue.goodbye == 0)
        #expect(!dialogue.session.isOver)
        dialogue.send(Frames.headers(3))
        #expect(dialogue.requests.isEmpty)
        dialogue.session.respond(HTTPServerResponse(.ok, body: [1]), to: stream)
        dialogue.turn()
        #expect(dialogue.responses[1]?.isComplete == true)
        #expect(dialogue.session.isOver)
    }
}
