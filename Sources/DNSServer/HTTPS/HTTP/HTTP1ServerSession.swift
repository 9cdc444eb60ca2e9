/// HTTP/1.1 on one connection with a client: one request after the other, each answered before the next is read.
final class HTTP1ServerSession: HTTPServerSession {
    private var reader = HTTP1Reader()
    /// The request that was returned and is not answered.
    private var current: HTTPServerStream?
    private var next: HTTPServerStream?
    private var output: [UInt8] = []
    /// Whether no further request is read.
    private var isLast = false
    private let date: ResponseDate

    init(date: ResponseDate = ResponseDate()) { self.date = date }

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
        if isLast { reader = HTTP1Reader() }
    }

    func nextRequest() -> HTTPServerStream? {
        guard let stream = next.take() else { return nil }
        current = stream
        return stream
    }

    func respond(_ response: HTTPServerResponse, to stream: HTTPServerStream) {
        guard stream === current else { return }
        current = nil
        write(response)
        read()
    }

    private func write(_ response: HTTPServerResponse) {
        var header = "HTTP/1.1 \(response.status.rawValue) \(response.status.reason)\r\n"
        if let type = response.contentType { header += "content-type: \(type)\r\n" }
        header += "content-length: \(response.body.count)\r\ncache-control: \(response.cacheControl)\r\n"
        if !date.text.isEmpty { header += "date: \(String(decoding: date.text, as: UTF8.self))\r\n" }
        for field in response.fields { header += "\(field.name): \(field.value)\r\n" }
        if isLast { header += "connection: close\r\n" }
        header += "\r\n"
        output += header.utf8
        output += response.body
    }

    func takeOutput(into buffer: inout [UInt8], limit: Int) {
        let count = min(output.count, max(0, limit - buffer.count))
        buffer += output.prefix(count)
        // Storage that is not needed is given back.
        output = count == output.count ? [] : Array(output.dropFirst(count))
    }

    func finish() {
        isLast = true
        reader = HTTP1Reader()
    }

    var hasRequest: Bool { next != nil }
    var isSaturated: Bool { current != nil || next != nil }
    var isOver: Bool { isLast && current == nil && next == nil && output.isEmpty }
    var held: Int { reader.count + output.count + (current?.request.held ?? 0) + (next?.request.held ?? 0) }
    var unsent: Int { output.count }
}
