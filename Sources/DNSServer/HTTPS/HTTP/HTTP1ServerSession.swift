/// HTTP/1.1 on one connection with a client: one request after the other, each answered before the next is read.
final class HTTP1ServerSession: HTTPServerSession {
    private var reader: HTTP1Reader
    /// The request that was returned and is not answered.
    private var current: HTTPServerStream?
    private var next: HTTPServerStream?
    private var output = StreamBuffer()
    private(set) var feed: HTTPServerFeed?
    /// The most bytes of a request's header.
    private let header: Int
    /// Whether no further request is read.
    private var isLast = false
    private let shared: HTTPSessionShare

    init(header: Int = HTTPServerLimits.header, in shared: HTTPSessionShare = HTTPSessionShare()) {
        self.header = header
        self.shared = shared
        reader = HTTP1Reader(header: header)
    }

    func receive(_ bytes: ArraySlice<UInt8>) {
        guard !isLast else { return }
        reader.append(bytes)
        read()
    }

    /// Reads the next request, once the one before is answered.
    private func read() {
        guard current == nil, next == nil, !isLast else { return }
        switch reader.next() {
        case .incomplete: break
        case .request(let request, let isLast):
            let stream = HTTPServerStream()
            stream.request = request
            next = stream
            self.isLast = isLast
        case .refused(let status):
            isLast = true
            write(HTTPServerResponse(status))
        }
        if isLast { reader = HTTP1Reader(header: header) }
    }

    func nextRequest() -> HTTPServerStream? {
        guard let stream = next.take() else { return nil }
        current = stream
        return stream
    }

    func respond(_ response: HTTPServerResponse, to stream: HTTPServerStream) {
        guard stream === current else { return }
        current = nil
        feed = stream.request.method == .head ? nil : response.feed
        // Its end is that of the connection (RFC 9112 section 6.3).
        if response.feed != nil { finish() }
        write(response, withBody: stream.request.method != .head)
        read()
    }

    func continueFeed(_ part: String?) {
        if let part, feed != nil { output.fill { $0 += part.utf8 } } else { feed = nil }
    }

    private func write(_ response: HTTPServerResponse, withBody hasBody: Bool = true) {
        var header = "HTTP/1.1 \(response.status.rawValue)\r\n"
        if let type = response.contentType { header += "content-type: \(type)\r\n" }
        if response.feed == nil { header += "content-length: \(response.body.count)\r\n" }
        header += "cache-control: \(response.cacheControl)\r\n"
        if !shared.date.isEmpty { header += "date: \(shared.date)\r\n" }
        for field in response.fields { header += "\(field.name): \(field.value)\r\n" }
        if isLast { header += "connection: close\r\n" }
        header += "\r\n"
        output.fill {
            $0 += header.utf8
            if hasBody { $0 += response.body }
        }
    }

    func takeOutput(into buffer: inout [UInt8], limit: Int) {
        let count = min(output.count, max(0, limit - buffer.count))
        buffer += output.waiting.prefix(count)
        output.removeFirst(count)
    }

    func finish() {
        isLast = true
        reader = HTTP1Reader(header: header)
    }

    var hasRequest: Bool { next != nil }
    var isSaturated: Bool { current != nil || next != nil }
    var isOver: Bool { isLast && current == nil && next == nil && output.isEmpty && feed == nil }
    var held: Int { reader.count + output.count + (current?.request.held ?? 0) + (next?.request.held ?? 0) }
    var unsent: Int { output.count }
}

/// Bytes received from an HTTP/1.1 client, from which requests are taken one by one (RFC 9112).
///
/// Strict, since a proxy before the listener may read otherwise than it does what is not quite HTTP: lines end with CRLF
/// only, no line is folded, a body has one `Content-Length`, and no request has a transfer coding.
struct HTTP1Reader {
    private typealias Status = HTTPServerResponse.Status

    /// The state of the bytes received.
    enum Next {
        /// A whole request, and whether the client may send another one after it.
        case request(HTTPServerRequest, isLast: Bool)
        /// Less than a whole request.
        case incomplete
        /// A request that is not answered but with this status; the connection can be used no further.
        case refused(HTTPServerResponse.Status)
    }

    /// The header of the request whose body is awaited.
    private struct Head {
        var request = HTTPServerRequest()
        var isLast = false
        /// Whether it may come without a field `Host`, as HTTP/1.0 does.
        var isOld = false
        var hosts = 0
        /// The authority of a target in absolute form.
        var authority: String?
        var length: Int?
        var coding: HTTPServerResponse.Status?
    }

    /// The most bytes of a header.
    private let header: Int
    private(set) var bytes: [UInt8] = []
    /// Up to where no end of a header was found.
    private var searched = 0
    private var head: Head?

    init(header: Int = HTTPServerLimits.header) { self.header = header }

    /// Bytes received and not returned.
    var count: Int { bytes.count }

    mutating func append(_ received: ArraySlice<UInt8>) { bytes.append(contentsOf: received) }

    /// Removes and returns the next request.
    mutating func next() -> Next {
        if head == nil {
            do throws(Status) {
                guard let end = try endOfHeader() else { return limit(bytes.count) }
                if end > header { return limit(end) }
                head = try Self.read(bytes[..<end])
                remove(end + 2)
            } catch {
                return .refused(error)
            }
        }
        guard let head, bytes.count >= head.length ?? 0 else { return .incomplete }
        self.head = nil
        var request = head.request
        request.body = Array(bytes.prefix(head.length ?? 0))
        remove(request.body.count)
        return .request(request, isLast: head.isLast)
    }

    private mutating func remove(_ count: Int) {
        bytes.removeFirst(count)
        if bytes.isEmpty {
            bytes = []
        } else if bytes.capacity > header, bytes.count < bytes.capacity / 4 {
            bytes.giveBackUnused()
        }
        searched = 0
    }

    /// The index after the CRLF of a header's last line, on which an empty line follows; nil: it has not come.
    private mutating func endOfHeader() throws(Status) -> Int? {
        var index = max(1, searched)
        while index < bytes.count {
            let isEnd = bytes[index] == 10
            // Without the other one neither ends a line, and the end might never come.
            guard isEnd == (bytes[index - 1] == 13) else { throw Status.badRequest }
            if isEnd, index > 1, bytes[index - 2] == 10 { return index - 1 }
            index += 1
        }
        searched = index
        return nil
    }

    /// What follows from the length of a header that is not complete, or too long.
    private func limit(_ length: Int) -> Next {
        guard length > header else { return .incomplete }
        return .refused(bytes.prefix(header).contains(10) ? .headerTooLarge : .targetTooLong)
    }

    // MARK: The header

    /// Parses a header: lines that each end with CRLF.
    private static func read(_ header: ArraySlice<UInt8>) throws(Status) -> Head {
        var head = Head()
        var rest = header
        try readRequestLine(takeLine(&rest), &head)
        while !rest.isEmpty { try readField(takeLine(&rest), &head) }
        try check(head)
        // RFC 9112 section 3.2.2.
        if let authority = head.authority { head.request.fields[.host] = authority }
        return head
    }

    private static func takeLine(_ rest: inout ArraySlice<UInt8>) throws(Status) -> ArraySlice<UInt8> {
        let line = rest.prefix { $0 != 13 && $0 != 10 }
        rest = rest[line.endIndex...]
        guard rest.starts(with: [13, 10]) else { throw Status.badRequest }
        rest = rest.dropFirst(2)
        return line
    }

    private static func readRequestLine(_ line: ArraySlice<UInt8>, _ head: inout Head) throws(Status) {
        let parts = line.split(separator: 0x20, omittingEmptySubsequences: false)
        guard parts.count == 3, isToken(parts[0]) else { throw Status.badRequest }
        let version = parts[2]
        guard version.count == 8, version.starts(with: "HTTP/".utf8) else { throw Status.badRequest }
        if version.elementsEqual("HTTP/1.0".utf8) {
            (head.isLast, head.isOld) = (true, true)
        } else if !version.elementsEqual("HTTP/1.1".utf8) {
            throw Status.versionNotSupported
        }
        head.request.setMethod(parts[0])
        var target = parts[1]
        if let scheme = ["https://", "http://"].first(where: { target.starts(with: $0.utf8) }) {
            let rest = target.dropFirst(scheme.utf8.count)
            let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
            guard !authority.isEmpty else { throw Status.badRequest }
            head.authority = String(decoding: authority, as: UTF8.self)
            target = rest[authority.endIndex...]
        }
        guard head.request.setTarget(target) else { throw Status.badRequest }
    }

    private static func readField(_ line: ArraySlice<UInt8>, _ head: inout Head) throws(Status) {
        // A folded line begins with a blank, which no name has, nor has any before the colon.
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), isToken(line[..<colon]) else {
            throw Status.badRequest
        }
        var value = line[(colon + 1)...].drop(while: isBlank)
        while let last = value.last, isBlank(last) { value = value.dropLast() }
        guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else { throw Status.badRequest }
        try take(line[..<colon], value, &head)
    }

    private static func take(
        _ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>, _ head: inout Head
    ) throws(Status) {
        if let field = HTTPServerRequest.Field.allCases.first(where: { isEqual(name, to: $0.rawValue) }) {
            if field == .host { head.hosts += 1 }
            head.request.take(field, value)
        } else if isEqual(name, to: "content-length") {
            guard head.length == nil, let length = HTTPServerRequest.length(value) else { throw Status.badRequest }
            head.length = length
        } else if isEqual(name, to: "transfer-encoding") {
            head.coding = isEqual(value, to: "chunked") ? .lengthRequired : .notImplemented
        } else if isEqual(name, to: "connection") {
            for option in value.split(separator: UInt8(ascii: ",")) {
                let option = option.filter { !isBlank($0) }
                if isEqual(option, to: "close") { head.isLast = true }
            }
        } else if isEqual(name, to: "content-type") {
            guard head.request.isDNSMessage == nil else { throw Status.badRequest }
            head.request.setContentType(value)
        } else if isEqual(name, to: "expect") {
            throw Status.expectationFailed
        }
    }

    private static func check(_ head: Head) throws(Status) {
        if let coding = head.coding { throw head.length == nil ? coding : Status.badRequest }
        guard head.hosts == 1 || head.isOld && head.hosts == 0 else { throw Status.badRequest }
        guard head.length ?? 0 <= HTTPServerLimits.body else { throw Status.contentTooLarge }
    }

    /// Whether a text is a name of a method or a field (RFC 9110 section 5.6.2).
    private static func isToken(_ text: ArraySlice<UInt8>) -> Bool {
        !text.isEmpty
            && text.allSatisfy {
                switch $0 {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
                default: "!#$%&'*+-.^_`|~".utf8.contains($0)
                }
            }
    }
}
