// A script of steps: requests begin and are cancelled, a server sends correct and wrong frames in parts of any size,
// and accepts what we send or does not. Each stream ends at most once and never after it was cancelled. A response
// consists of exactly what came on its stream, as determined by a separate reader of the frames.

import DNSWire
import HTTPDNS
import Platform
@testable import Upstreams

func fuzzHTTP2Session(_ input: [UInt8]) {
    let script = Script(input)
    onLoop { Stage(script).play() }
}

/// Reads the contents of frames (RFC 9113 section 4.1) for each stream, without any rule that a frame could break.
private struct FrameReader {
    struct Reply {
        var body: [UInt8] = []
        var hasEnded = false
    }

    private var unread: [UInt8] = []
    private(set) var replies: [Int32: Reply] = [:]

    mutating func receive(_ bytes: some Sequence<UInt8>) {
        unread += bytes
        var start = 0
        while unread.count - start >= 9 {
            let header = unread[start..<(start + 9)].map { Int($0) }
            let end = start + 9 + (header[0] << 16 | header[1] << 8 | header[2])
            guard unread.count >= end else { break }
            let stream = header[5...].reduce(0) { $0 << 8 | $1 } & 0x7fff_ffff
            take(type: header[3], flags: header[4], Int32(stream), unread[(start + 9)..<end])
            start = end
        }
        unread.removeFirst(start)
    }

    private mutating func take(type: Int, flags: Int, _ stream: Int32, _ payload: ArraySlice<UInt8>) {
        guard type <= 1, replies[stream]?.hasEnded != true else { return }
        var payload = payload
        if type == 0 {
            if flags & 8 != 0, let padding = payload.popFirst() { payload = payload.dropLast(Int(padding)) }
            replies[stream, default: Reply()].body += payload
        }
        if flags & 1 != 0 { replies[stream, default: Reply()].hasEnded = true }
    }
}

/// A session, its server, and the caller that begins requests.
@Loop
private final class Stage {
    private var script: Script
    private let session: HTTP2Session
    /// Streams that have begun, and neither ended nor been cancelled. Nothing else retains them.
    private var streams: [HTTPStream] = []
    /// The streams begun last, open or not, which the server addresses by index.
    private var ids: [Int32] = [1]
    /// Bytes under way from the server.
    private var wire: [UInt8] = []
    private var reader = FrameReader()
    private var takesNothing = false
    private var isOver = false

    init(_ script: Script) {
        self.script = script
        do {
            session = try HTTP2Session(authority: "service.example")
        } catch {
            preconditionFailure("no session: \(error)")
        }
    }

    func play() {
        while !isOver, let step = script.next() { act(step) }
        deliver(wire.count)
    }

    private func act(_ step: UInt8) {
        switch step % 20 {
        case 0: begin(body: nil)
        case 1: begin(body: [UInt8](repeating: step, count: script.number() * 300))
        case 2: cancel(script.number())
        case 3: deliver(script.number())
        case 4: deliver(wire.count)
        case 5: takesNothing.toggle()
        case 6: send(type: 1, flags: 5, id(), [0x88])
        case 7: send(type: 1, flags: 4, id(), [0x88])
        case 8: send(type: 0, flags: 1, id(), body(script.number() * 8))
        case 9: send(type: 0, flags: 0, id(), body(script.number() * 65))
        case 10: send(type: 3, flags: script.number(), id(), [0, 0, 0, script.next() ?? 0])
        case 11: send(type: 4, flags: 0, 0, [0, script.next() ?? 0] + script.bytes(4))
        case 12: send(type: 4, flags: 1, 0, [])
        case 13: send(type: 6, flags: script.number(), 0, [UInt8](repeating: 1, count: 8))
        case 14: send(type: 7, flags: 0, 0, [0, 0, 0, script.next() ?? 0, 0, 0, 0, script.next() ?? 0])
        case 15: send(type: 8, flags: script.number(), id(), script.bytes(4))
        case 16: send(type: 1, flags: 4 | script.number() & 1, id(), field())
        case 17: send(type: script.number() % 12, flags: script.number(), id(), script.bytes(script.number()))
        case 18: wire += script.bytes(script.number())
        default:
            // A promise of a response to a request that was not made, with a request in it or something else.
            let promised: [UInt8] = [0, 0, 0, (script.next() ?? 2) & ~1]
            send(type: 5, flags: 4, id(), promised + [0x82, 0x84, 0x87, 0x01, 1, UInt8(ascii: "a")] + field())
        }
    }

    // MARK: Requests

    private func begin(body: [UInt8]?) {
        guard streams.count < HTTPLimits.streams, session.mayOpen else { return }
        let request = HTTPRequest(target: "/", headers: [["Content-Type", "text/plain"]], body: body)
        let stream = HTTPStream(request, at: Instant(nanoseconds: 0))
        guard (try? session.open(stream, path: request.target)) != nil else { return }
        streams.append(stream)
        ids.append(stream.id)
    }

    private func cancel(_ place: Int) {
        guard !streams.isEmpty else { return }
        session.reset(streams.remove(at: place % streams.count))
    }

    // MARK: The server

    /// The ID of one of our streams, or rarely any other.
    private func id() -> Int32 {
        let place = script.number()
        return place < 240 ? ids[place % ids.count] : Int32(place)
    }

    private func body(_ count: Int) -> [UInt8] { [UInt8](repeating: script.next() ?? 0, count: min(count, 16_384)) }

    /// A field: a literal (RFC 7541 section 6.2.2) with a length that may be wrong, one that is added to the table, or
    /// an index.
    private func field() -> [UInt8] {
        let value = script.bytes(script.number() % 128)
        switch script.number() % 4 {
        case 0: return [0, 3] + "age".utf8 + [UInt8(value.count)] + value
        case 1: return [0x40, 4] + "date".utf8 + [UInt8(value.count)] + value
        case 2: return [0x08, UInt8(value.count)] + value
        default: return value
        }
    }

    private func send(type: Int, flags: Int, _ stream: Int32, _ payload: [UInt8]) {
        let length = payload.count
        wire += [UInt8(length >> 16), UInt8(length >> 8 & 255), UInt8(length & 255), UInt8(type), UInt8(flags)]
        wire += (0..<4).map { UInt8(truncatingIfNeeded: stream >> (24 - 8 * $0)) } + payload
    }

    // MARK: The connection between them

    /// Lets the session receive so many of the bytes under way, as a connection does.
    private func deliver(_ count: Int) {
        guard !isOver else { return }
        let part = Array(wire.prefix(count))
        wire.removeFirst(part.count)
        reader.receive(part)
        do {
            try part.withUnsafeBytes { try session.receive($0, at: Instant(nanoseconds: 0)) }
            takeEnded()
            var frames: [UInt8] = []
            if !takesNothing { try session.takeFrames(into: &frames, limit: .max) }
            isOver = session.isStuffed || session.isOver
        } catch {
            isOver = true
        }
        takeEnded()
    }

    private func takeEnded() {
        var ended: [HTTPSession.Ended] = []
        session.takeEnded(into: &ended)
        for (stream, code) in ended {
            // The completion of one may have cancelled another one.
            guard let place = streams.firstIndex(where: { $0 === stream }) else {
                precondition(cancelled.contains(stream.id), "a stream ends that has ended, or was cancelled")
                continue
            }
            streams.remove(at: place)
            check(stream, code)
            if script.number() == 1, let other = streams.popLast() {
                session.reset(other)
                cancelled.insert(other.id)
            }
        }
        cancelled = []
    }

    /// Streams that completions have cancelled, in the present round.
    private var cancelled: Set<Int32> = []

    /// Checks that a response is a complete one that the server sent.
    private func check(_ stream: HTTPStream, _ code: HTTP2Code) {
        precondition(stream.response.body.count <= HTTPLimits.body, "a body over its limit")
        guard code == .none, stream.isComplete, stream.failure == nil else { return }
        let reply = reader.replies[stream.id]
        precondition(reply?.hasEnded == true, "a reply that is cut")
        precondition(reply?.body == stream.response.body, "a reply that is not what was sent")
        precondition((200...999).contains(stream.response.status), "a reply without a status")
    }
}
