import DNSWire
import HTTPDNS
import Platform

/// HTTP/1.1 on one connection with a service (RFC 9112): one request at a time, and its reply.
///
/// It is strict in all on which the end of a reply depends: one reply must never be taken for a part of another.
final class HTTP1Session: HTTPSession {
    /// What comes next.
    private enum Part: Equatable {
        /// Nothing: no reply is awaited.
        case nothing
        case statusLine
        case fields
        /// So many bytes of the body; in a chunk, the end of its line follows.
        case body(Int, isChunk: Bool)
        case chunkSize
        case chunkEnd
        case trailer
        /// The rest of the body, which ends with the connection.
        case rest
    }

    /// The most bytes of the line before a chunk: its size, and perhaps an extension.
    private static let chunkLine = 256
    private static let start = Array("HTTP/1.".utf8)
    private static let noHTTP = UpstreamFailure.unusable("the reply is not HTTP")

    private let authority: String
    private let bodyLimit: Int
    /// The request under way.
    private var stream: HTTPStream?
    private var part = Part.nothing
    /// What the header says of the end of the reply.
    private var (bodyLength, isChunked): (Int?, Bool) = (nil, false)
    /// Whether another request may follow on the connection.
    private var persists = true
    /// The beginning of a line whose end has not come.
    private var line: [UInt8] = []
    private var unsent: [UInt8] = []
    private var ended: [Ended] = []
    /// Bytes of TLS's own that may yet be received.
    private var overheadLeft = HTTPLimits.overhead
    private(set) var isOver = false

    /// `authority` is host and port as in a URL, `bodyLimit` the most bytes of a reply's body.
    init(authority: String, bodyLimit: Int = HTTPLimits.body) {
        self.authority = authority
        self.bodyLimit = bodyLimit
    }

    // MARK: The request

    var mayOpen: Bool { stream == nil && !isOver && overheadLeft >= HTTPLimits.overhead / 2 }
    var isClosing: Bool { isOver }
    var pings: Bool { false }
    var isStuffed: Bool { false }

    func ping() {}

    func open(_ stream: HTTPStream, path: String) throws(UpstreamFailure) {
        let request = stream.request
        var lines = [
            "\(request.body == nil ? "GET" : "POST") \(path) HTTP/1.1", "Host: \(authority)", "User-Agent: httpdnsd",
            // Nothing is decompressed here: so no reply grows beyond the limit of its body.
            "Accept-Encoding: identity",
        ]
        if !request.headers.contains(where: { $0[0].lowercased() == "accept" }) { lines.append("Accept: */*") }
        lines += request.headers.map { $0.joined(separator: ": ") }
        if let body = request.body { lines.append("Content-Length: \(body.count)") }
        guard !path.utf8.contains(0x20), lines.allSatisfy({ $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f } }) else {
            throw .unusable("the request cannot be sent")
        }
        unsent = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + (request.body ?? [])
        self.stream = stream
        part = .statusLine
        overheadLeft = min(overheadLeft + HTTPLimits.overheadPerRequest, HTTPLimits.overhead)
    }

    /// One that was not sent leaves the connection to others.
    func reset(_ stream: HTTPStream) {
        if unsent.isEmpty { isOver = true }
        unsent = []
        self.stream = nil
        part = .nothing
    }

    func takeFrames(into buffer: inout [UInt8], limit: Int) {
        if isOver { return }
        buffer += unsent
        unsent = []
    }

    func isSent(_ stream: HTTPStream) -> Bool { unsent.isEmpty }

    func takeEnded(into buffer: inout [Ended]) { swap(&ended, &buffer) }

    // MARK: The reply

    func noteOverhead(_ count: Int) throws(UpstreamFailure) {
        overheadLeft -= count
        guard overheadLeft >= 0 else { throw .network("the server sends too much beside replies") }
    }

    func receive(_ bytes: UnsafeRawBufferPointer, at now: Instant) {
        var rest = unsafe Array(bytes)[...]
        while !rest.isEmpty, !isOver {
            // What comes before the request has gone is no reply to it.
            guard let stream, unsent.isEmpty else { return isOver = true }
            if !receive(&rest, of: stream, at: now) { end(stream, .cancel) }
        }
    }

    func receiveEnd() {
        if part == .rest, let stream { complete(stream) }
        isOver = true
    }

    private func end(_ stream: HTTPStream, _ code: HTTP2Code) {
        ended.append((stream, code))
        self.stream = nil
        part = .nothing
        if code != .none || !persists { isOver = true }
    }

    private func complete(_ stream: HTTPStream) {
        stream.isComplete = true
        end(stream, .none)
    }

    /// Removes from `rest` what it takes. Returns whether the reply is acceptable, as all of these functions do.
    private func receive(_ rest: inout ArraySlice<UInt8>, of stream: HTTPStream, at now: Instant) -> Bool {
        switch part {
        case .body(let left, let isChunk):
            let taken = rest.prefix(left)
            rest = rest.dropFirst(taken.count)
            guard unsafe taken.withUnsafeBytes({ unsafe stream.receiveBody($0) }) else { return false }
            if taken.count < left {
                part = .body(left - taken.count, isChunk: isChunk)
            } else if isChunk {
                part = .chunkEnd
            } else {
                complete(stream)
            }
            return true
        case .rest:
            defer { rest = [] }
            return unsafe rest.withUnsafeBytes { unsafe stream.receiveBody($0) }
        case .nothing, .statusLine, .fields, .chunkSize, .chunkEnd, .trailer:
            let end = rest.firstIndex(of: 10)
            line += rest[..<(end ?? rest.endIndex)]
            rest = end.map { rest[($0 + 1)...] } ?? []
            // Of what is no HTTP no line's end is awaited.
            guard part != .statusLine || zip(line, Self.start).allSatisfy(==) else { return stream.fail(Self.noHTTP) }
            guard line.count <= HTTPLimits.header else { return stream.fail(.tooLarge) }
            guard end != nil else { return true }
            // A line may end without a carriage return (RFC 9112 section 2.2).
            if line.last == 13 { line.removeLast() }
            defer { line.removeAll(keepingCapacity: true) }
            return takeLine(of: stream, at: now)
        }
    }

    private func takeLine(of stream: HTTPStream, at now: Instant) -> Bool {
        switch part {
        case .statusLine:
            guard line.count >= 12, line[8] == 0x20, line.count == 12 || line[12] == 0x20 else {
                return stream.fail(Self.noHTTP)
            }
            (bodyLength, isChunked, persists) = (nil, false, line[7] != UInt8(ascii: "0"))
            part = .fields
            return unsafe line[9..<12].withUnsafeBytes { unsafe stream.begin(status: $0, length: line.count, at: now) }
        case .fields:
            if !line.isEmpty { return takeField(of: stream) }
            return stream.receiveHeader(2) && endHeader(of: stream)
        case .trailer:
            if !line.isEmpty { return takeField(of: stream) }
            complete(stream)
        case .chunkSize:
            let digits = line.prefix { Character(UnicodeScalar($0)).isHexDigit }
            // An extension may follow (RFC 9112 section 7.1.1).
            guard line.count <= Self.chunkLine, let size = Int(String(decoding: digits, as: UTF8.self), radix: 16),
                line.count == digits.count || [0x20, 0x09, 0x3b].contains(line[digits.count])
            else { return stream.fail(Self.noHTTP) }
            part = size == 0 ? .trailer : .body(size, isChunk: true)
        case .chunkEnd:
            guard line.isEmpty else { return stream.fail(Self.noHTTP) }
            part = .chunkSize
        case .nothing, .body, .rest: break
        }
        return true
    }

    private func takeField(of stream: HTTPStream) -> Bool {
        // A folded line goes on with a value of which nothing here depends.
        if line[0] == 0x20 || line[0] == 0x09 { return stream.receiveHeader(line.count) }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return stream.fail(Self.noHTTP) }
        if part == .fields {
            let text = String(decoding: line[(colon + 1)...], as: UTF8.self)
            let words = text.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
            switch String(decoding: line[..<colon], as: UTF8.self).lowercased() {
            case "content-length":
                guard words.count == 1, let length = OutsideNumber(digits: words[0])?.clamped(to: 0...Int.max),
                    bodyLength ?? length == length
                else { return stream.fail(Self.noHTTP) }
                bodyLength = length
            case "transfer-encoding":
                guard words == ["chunked"], !isChunked else { return stream.fail(Self.noHTTP) }
                isChunked = true
            case "connection":
                if words.contains("close") { persists = false }
                if words.contains("keep-alive") { persists = true }
            default: break
            }
        }
        return unsafe line[..<colon].withUnsafeBytes { name in
            unsafe line[(colon + 1)...].withUnsafeBytes { unsafe stream.receiveField(name, $0) }
        }
    }

    /// Goes on to the body (RFC 9112 section 6.3).
    private func endHeader(of stream: HTTPStream) -> Bool {
        // No other protocol was asked for.
        guard stream.status != 101 else { return stream.fail(Self.noHTTP) }
        guard stream.status >= 200 else {
            part = .statusLine
            return true
        }
        stream.endHeader()
        if stream.status == 204 || stream.status == 304 {
            complete(stream)
        } else if isChunked {
            // With a length besides, another server on the way may take another end for the reply's.
            if bodyLength != nil { persists = false }
            part = .chunkSize
        } else if let length = bodyLength {
            guard length <= bodyLimit else { return stream.fail(.tooLarge) }
            if length == 0 { complete(stream) } else { part = .body(length, isChunk: false) }
        } else {
            persists = false
            part = .rest
        }
        return true
    }
}
