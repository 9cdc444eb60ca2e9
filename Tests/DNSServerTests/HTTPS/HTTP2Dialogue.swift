import CNghttp2
import TestSupport
import Testing

@testable import DNSServer

/// A client and the server's session, without a network: frames go in, frames come out.
final class HTTP2Dialogue {
    /// A response as the client has it.
    struct Response {
        var fields: [String: String] = [:]
        var body: [UInt8] = []
        var isComplete = false
    }

    let session: HTTP2ServerSession
    /// What each request is answered with; nil leaves it unanswered.
    var answer: (HTTPServerRequest) -> HTTPServerResponse? = { _ in HTTPServerResponse(.ok, body: Array("answer".utf8))
    }
    /// All requests that were whole.
    private(set) var requests: [HTTPServerRequest] = []
    /// All frames that the server has sent.
    private(set) var frames: [Frames.Frame] = []
    /// The responses by stream.
    private(set) var responses: [UInt32: Response] = [:]
    private var output: [UInt8] = []
    private var inflater: OpaquePointer?

    /// - Parameters:
    ///   - memory: of the server's session.
    ///   - settings: the client's.
    init(
        greets: Bool = true, in memory: HTTPSessionShare = HTTPSessionShare(), settings: (UInt16, UInt32)...
    ) throws {
        session = try #require(HTTP2ServerSession(in: memory))
        try #require(nghttp2_hd_inflate_new(&inflater) == 0)
        guard greets else { return }
        let payload = settings.flatMap { Frames.setting($0.0, $0.1) }
        send(Frames.preface + Frames.frame(.settings, payload))
        send(Frames.frame(.settings, flags: Frames.acknowledgement))
    }

    deinit { nghttp2_hd_inflate_del(inflater) }

    /// Sends bytes in parts of at most this size, and takes what comes back.
    func send(_ bytes: [UInt8], inPartsOf size: Int = 16_384) {
        var rest = bytes[...]
        while !rest.isEmpty {
            session.receive(rest.prefix(size))
            rest = rest.dropFirst(size)
            turn()
        }
    }

    /// Answers what is whole, and takes what the session sends.
    func turn() {
        while let stream = session.nextRequest() {
            requests.append(stream.request)
            if let response = answer(stream.request) { session.respond(response, to: stream) }
        }
        session.takeOutput(into: &output, limit: .max)
        let new = Frames.take(from: &output)
        frames += new
        new.forEach(read)
    }

    private func read(_ frame: Frames.Frame) {
        switch frame.kind {
        case .headers: responses[frame.stream, default: Response()].fields = inflate(frame.payload)
        case .data: responses[frame.stream]?.body += frame.payload
        default: return
        }
        if frame.endsStream { responses[frame.stream]?.isComplete = true }
    }

    private func inflate(_ block: [UInt8]) -> [String: String] {
        var fields: [String: String] = [:]
        block.withUnsafeBufferPointer { block in
            var rest = block[...]
            while true {
                var (pair, flags): (nghttp2_nv, Int32) = (nghttp2_nv(), 0)
                let part = UnsafeBufferPointer(rebasing: rest)
                let count = nghttp2_hd_inflate_hd2(inflater, &pair, &flags, part.baseAddress, part.count, 1)
                guard count >= 0 else { return }
                rest = rest.dropFirst(count)
                if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                    let name = UnsafeBufferPointer(start: pair.name, count: pair.namelen)
                    let value = UnsafeBufferPointer(start: pair.value, count: pair.valuelen)
                    fields[String(decoding: name, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
                }
                if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 { break }
            }
            nghttp2_hd_inflate_end_headers(inflater)
        }
        return fields
    }

    /// The code of the first GOAWAY, if there is one.
    var goodbye: UInt32? { frames.first { $0.kind == .goaway }?.code }

    /// The code with which a stream was reset.
    func reset(_ stream: UInt32) -> UInt32? {
        frames.first { $0.kind == .reset && $0.stream == stream }?.code
    }

    /// Whether a request on this stream is answered now.
    func serves(_ stream: UInt32) -> Bool {
        send(Frames.headers(stream))
        return responses[stream]?.isComplete == true && !session.isOver
    }
}
