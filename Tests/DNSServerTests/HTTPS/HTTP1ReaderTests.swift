import Testing

@testable import DNSServer

struct HTTP1ReaderTests {
    private typealias Status = HTTPServerResponse.Status

    /// The requests in a text, and what ends it.
    private func read(
        _ text: String, inPartsOf size: Int = .max
    ) -> (requests: [HTTPServerRequest], isLast: Bool, refusal: HTTPServerResponse.Status?) {
        var reader = HTTP1Reader()
        var requests: [HTTPServerRequest] = []
        var isLast = false
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            reader.append(rest.prefix(size))
            rest = rest.dropFirst(size)
            reading: while true {
                switch reader.next() {
                case .request(let request, let last): (requests, isLast) = (requests + [request], last)
                case .refused(let status): return (requests, isLast, status)
                case .incomplete: break reading
                }
            }
        }
        return (requests, isLast, nil)
    }

    private func refusal(_ text: String) -> HTTPServerResponse.Status? { read(text).refusal }

    private static let get = "GET /dns-query?dns=AAAA HTTP/1.1\r\nHost: dns.example\r\nAccept: */*\r\n\r\n"
    private static let post =
        "POST /dns-query HTTP/1.1\r\nhost:dns.example\r\nContent-Type: Application/DNS-Message ;a=b\r\n"
        + "content-length: \t 4 \r\n\r\nbody"

    @Test func `the values of a field that comes twice are a list`() {
        var request = HTTPServerRequest()
        for value in ["text/html", "text/plain"] { request.take(.accept, value.utf8) }
        #expect(request.fields[.accept] == "text/html, text/plain")
    }

    @Test func `storage of a long body is returned, though a byte of the next request is there`() {
        var reader = HTTP1Reader()
        let body = String(repeating: "x", count: 65_535)
        reader.append(
            Array(
                Self.post.replacing("content-length: \t 4 \r\n\r\nbody", with: "content-length: 65535\r\n\r\n\(body)G")
                    .utf8)[...])
        guard case .request(let request, _) = reader.next() else {
            Issue.record("no request")
            return
        }
        #expect(request.body.count == 65_535 && reader.count == 1)
        #expect(reader.bytes.capacity <= HTTPServerLimits.header)
    }

    @Test(arguments: [1, 2, 3, 7, 1_000])
    func `requests that come in parts of any size are read one by one`(size: Int) {
        let (requests, isLast, refusal) = read(Self.get + Self.post + Self.get, inPartsOf: size)
        #expect(requests.map(\.method) == [.get, .post, .get])
        #expect(
            requests.map { String(decoding: $0.target, as: UTF8.self) } == [
                "/dns-query?dns=AAAA", "/dns-query", "/dns-query?dns=AAAA",
            ])
        #expect(requests.map(\.isDNSMessage) == [nil, true, nil])
        #expect(requests.map { String(decoding: $0.body, as: UTF8.self) } == ["", "body", ""])
        #expect(!isLast)
        #expect(refusal == nil)
    }

    @Test func `a target with scheme and authority is read without them`() {
        let target = read("GET https://dns.example/dns-query?dns=AAAA HTTP/1.1\r\nHost: a\r\n\r\n").requests.first?
            .target
        #expect(target == Array("/dns-query?dns=AAAA".utf8))
    }

    @Test(arguments: [
        ("http://evil.example/ HTTP/1.1\r\nHost: a", "evil.example"),
        ("https://[::1]:80/ HTTP/1.1\r\nHost: a", "[::1]:80"),
        ("http://evil.example/ HTTP/1.0", "evil.example"),
        ("/http://evil.example/ HTTP/1.1\r\nHost: a", "a"),
    ])
    func `the authority of a target stands for the host, whatever the field says`(rest: String, host: String) {
        #expect(read("GET \(rest)\r\n\r\n").requests.first?.fields[.host] == host)
    }

    @Test(arguments: ["\n", "\r", "\n\r"]) func `a line that does not end with CRLF is not waited behind`(end: String) {
        for size in [1, 1_000] {
            #expect(read("GET / HTTP/1.1\(end)Host: a\(end)\(end)", inPartsOf: size).refusal == .badRequest)
            #expect(read("GET / HTTP/1.1\r\nHost: a\(end)\(end)", inPartsOf: size).refusal == .badRequest)
        }
    }

    @Test(arguments: [
        "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Close\r\n\r\n",
    ])
    func `a client says that a request is its last one`(text: String) { #expect(read(text).isLast) }

    @Test(arguments: [
        "GET / HTTP/1.1\nHost: a\n\n\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\u{0}b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\u{1f}b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\u{7f}b\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://a?b/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET HTTP://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / http/1.1\r\nHost: a\r\n\r\n",
        "G(T / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\na",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\na",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\na",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: a\r\nContent-Type: b\r\n\r\na",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\na",
    ])
    func `what is not quite HTTP is refused, since a proxy may read it otherwise`(text: String) {
        #expect(refusal(text) == .badRequest)
    }

    @Test func `a value may have blanks, tabs and letters of any language`() {
        #expect(read("GET / HTTP/1.1\r\nHost: a\r\nX: a\tb c \u{e9}~\r\n\r\n").requests.count == 1)
    }

    @Test func `a name in capitals is that of no other field`() {
        #expect(refusal("GET / HTTP/1.1\r\nHOST: a\r\n\r\n") == nil)
        #expect(refusal("GET / HTTP/1.1\r\nHXST: a\r\n\r\n") == .badRequest)
    }

    @Test func `what follows a request is read from its first byte`() {
        #expect(refusal(Self.get + "\r\n\r\n") == .badRequest)
    }

    @Test func `what is HTTP and not served is refused with its own status`() {
        #expect(refusal("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n") == .lengthRequired)
        #expect(refusal("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n") == .notImplemented)
        #expect(refusal("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n") == .contentTooLarge)
        #expect(
            refusal("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n")
                == .contentTooLarge)
        #expect(refusal("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n") == .expectationFailed)
        #expect(refusal("GET / HTTP/2.0\r\nHost: a\r\n\r\n") == .versionNotSupported)
    }

    @Test func `a header has a limit, and the longest one within it is read`() {
        let frame = "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n"
        func field(_ length: Int) -> String {
            let value = String(repeating: "a", count: length)
            return "GET / HTTP/1.1\r\nHost: a\r\nX: \(value)\r\n\r\n"
        }
        let most = HTTPServerLimits.header - frame.utf8.count
        #expect(read(field(most)).requests.count == 1)
        #expect(refusal(field(most + 1)) == .headerTooLarge)
        #expect(refusal(String(repeating: "X: a\r\n", count: 2_000)) == .headerTooLarge)
        #expect(refusal("GET /" + String(repeating: "a", count: HTTPServerLimits.header)) == .targetTooLong)
    }

    @Test func `a header without an end is refused before it takes memory`() {
        var reader = HTTP1Reader()
        var status: HTTPServerResponse.Status?
        var parts = 0
        while status == nil {
            reader.append([UInt8](repeating: 0x61, count: 100)[...])
            parts += 1
            if case .refused(let refusal) = reader.next() { status = refusal }
        }
        #expect(status == .targetTooLong)
        #expect(parts == 82)
    }

    // MARK: The session

    private func dialogue(_ text: String, _ answers: HTTPServerResponse...) -> (output: String, isOver: Bool) {
        let session = HTTP1ServerSession()
        session.receive(Array(text.utf8)[...])
        var rest = answers[...]
        while let stream = session.nextRequest(), let answer = rest.popFirst() { session.respond(answer, to: stream) }
        var output: [UInt8] = []
        session.takeOutput(into: &output, limit: .max)
        return (String(decoding: output, as: UTF8.self), session.isOver)
    }

    @Test func `pipelined requests are answered one after the other`() {
        let (output, isOver) = dialogue(
            Self.get + Self.post, HTTPServerResponse(.ok, contentType: "a/b", maxAge: 60, body: Array("one".utf8)),
            HTTPServerResponse(.notFound))
        #expect(
            output
                == "HTTP/1.1 200 OK\r\ncontent-type: a/b\r\ncontent-length: 3\r\ncache-control: max-age=60\r\n\r\none"
                + "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\ncache-control: no-store\r\n\r\n")
        #expect(!isOver)
    }

    @Test func `a request is not read before the one before it is answered`() {
        let session = HTTP1ServerSession()
        session.receive(Array((Self.get + Self.get).utf8)[...])
        let first = session.nextRequest()
        #expect(first != nil)
        #expect(session.nextRequest() == nil)
        #expect(session.isSaturated)
    }

    @Test func `what a session holds is counted whatever it waits for, and in the end that is nothing`() throws {
        let session = HTTP1ServerSession()
        let request = Array(Self.get.utf8)
        session.receive(request[..<20])
        #expect(session.held == 20)
        session.receive((request[20...] + request)[...])
        // The first one is whole, and of the second the bytes are there.
        #expect(session.held > request.count)
        for _ in 0..<2 {
            let before = session.held
            let stream = try #require(session.nextRequest())
            #expect(session.held == before)
            session.respond(HTTPServerResponse(.ok, body: [UInt8](repeating: 7, count: 1_000)), to: stream)
            #expect(session.held > 1_000)
            var output: [UInt8] = []
            session.takeOutput(into: &output, limit: .max)
        }
        #expect(session.held == 0)
    }

    @Test func `a connection ends after the last request, and after one that is refused`() {
        let last = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        let (output, isOver) = dialogue(last + Self.get, HTTPServerResponse(.ok), HTTPServerResponse(.ok))
        #expect(
            output == "HTTP/1.1 200 OK\r\ncontent-length: 0\r\ncache-control: no-store\r\nconnection: close\r\n\r\n")
        #expect(isOver)
        let refused = dialogue("GET / HTTP/1.1\r\n\r\n" + Self.get)
        #expect(
            refused.output
                == "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\ncache-control: no-store\r\nconnection: close\r\n\r\n"
        )
        #expect(refused.isOver)
    }

    @Test(arguments: [
        (HTTPServerResponse.Status.ok, "200 OK"), (.tooManyRequests, "429 Too Many Requests"),
        (.loopDetected, "508 Loop Detected"),
    ])
    func `a status has its reason, for which Tencent's SDK of Android looks`(
        status: HTTPServerResponse.Status, text: String
    ) {
        #expect(dialogue(Self.get, HTTPServerResponse(status)).output.hasPrefix("HTTP/1.1 \(text)\r\n"))
    }
}
