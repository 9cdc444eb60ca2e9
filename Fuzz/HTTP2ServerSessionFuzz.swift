// A script of steps: any bytes from an HTTP/2 client behind its preface, in parts of any size, and responses to its
// requests, at once or later or never. Requests are within their limits, a stream that is gone gets no response, what is
// held is counted, what is sent are whole frames, and a session touches two pages of its memory.

@testable import DNSServer
import Platform

// One session has it at a time.
nonisolated(unsafe) private let memory = HTTPSessionShare()

func fuzzHTTP2ServerSession(_ input: [UInt8]) {
    guard let session = HTTP2ServerSession(in: memory) else { preconditionFailure("no session") }
    let client = Client(session, Script(input))
    client.play()
    precondition(memory.slots.resident <= 2 * 4_096, "a page is touched that a frame should not reach")
}

/// The client, and what answers its requests.
private final class Client {
    private let session: HTTP2ServerSession
    private var script: Script
    private var waiting: [HTTPServerStream] = []
    private var output: [UInt8] = []

    init(_ session: HTTP2ServerSession, _ script: Script) {
        self.session = session
        self.script = script
    }

    func play() {
        receive(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0])
        while let step = script.next(), !session.isOver {
            switch step & 3 {
            case 0: receive(script.bytes(Int(step >> 2)))
            case 1: receive(script.bytes(Int(step >> 2) * 64))
            case 2: answer(Int(step >> 2))
            default: if step == 0xff { session.finish() } else { takeOutput() }
            }
        }
        takeOutput()
    }

    private func receive(_ bytes: [UInt8]) {
        session.receive(bytes[...])
        while let stream = session.nextRequest() {
            precondition(stream.isOpen && stream.isWhole, "a request that is gone, or not whole")
            precondition(stream.request.body.count <= HTTPServerLimits.body, "a body over its limit")
            precondition(stream.request.target.first == UInt8(ascii: "/"), "a request without a target")
            waiting.append(stream)
        }
        check()
    }

    private func answer(_ size: Int) {
        guard !waiting.isEmpty else { return }
        let stream = waiting.remove(at: size % waiting.count)
        session.respond(
            HTTPServerResponse(.ok, contentType: "a/b", body: [UInt8](repeating: 1, count: size * 100)), to: stream)
        check()
    }

    private func takeOutput() {
        session.takeOutput(into: &output, limit: 16 << 10)
        while output.count >= 9 {
            let length = output[..<3].reduce(0) { $0 << 8 | Int($1) }
            precondition(length <= 16 << 10, "a frame over the limit")
            guard output.count >= 9 + length else { break }
            output.removeFirst(9 + length)
        }
        check()
    }

    private func check() {
        precondition(session.unsent >= 0 && session.held >= session.unsent, "bytes that are counted twice, or not")
        let perStream = HTTPServerLimits.header + 6_300 + HTTPServerLimits.heldByStream
        let bound = HTTPServerLimits.window + HTTPServerLimits.streams * perStream
        precondition(session.held <= bound, "more is held than the windows let in")
        waiting.removeAll { !$0.isOpen }
    }
}
