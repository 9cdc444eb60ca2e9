/// HTTP/1.1 on one connection with a client: one request after the other, each answered before the next is read.
final class HTTP1ServerSession: HTTPServerSession {
    private var reader: HTTP1Reader
    /// The request that was returned and is not answered.
    private var current: HTTPServerStream?
    private var next: HTTPServerStream?
    private var output = StreamBuffer()
    private(set) var feed: HTTPServerFeed?
    private let header: Int
    /// Whether no further request is read.
    private var isLast = false
    private let date: ResponseDate

    /// - Parameter header: the most bytes of a request's header.
    init(header: Int = HTTPServerLimits.header, date: ResponseDate = ResponseDate()) {
        self.header = header
        self.date = date
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
        var header = "HTTP/1.1 \(response.status.rawValue) \(response.status.reason)\r\n"
        if let type = response.contentType { header += "content-type: \(type)\r\n" }
        if response.feed == nil { header += "content-length: \(response.body.count)\r\n" }
        header += "cache-control: \(response.cacheControl)\r\n"
        if !date.text.isEmpty { header += "date: \(date.text)\r\n" }
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
