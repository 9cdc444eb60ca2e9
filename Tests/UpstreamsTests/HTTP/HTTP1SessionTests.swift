import DNSWire
import HTTPDNS
import Platform
import Testing

@testable import Upstreams

/// HTTP/1.1 without a network: bytes that a server might send, in parts of any size.
struct HTTP1SessionTests {
    /// The stream of one request after these bytes, and its session.
    private func received(_ text: String, inPartsOf size: Int = .max) throws -> (HTTPStream, HTTP1Session) {
        let session = HTTP1Session(authority: "service.example")
        let stream = HTTPStream(HTTPRequest(target: "/"), at: Instant(nanoseconds: 0))
        try session.open(stream, path: "/")
        var sent: [UInt8] = []
        session.takeFrames(into: &sent, limit: .max)
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            rest.prefix(size).withUnsafeBytes { session.receive($0, at: Instant(nanoseconds: 0)) }
            rest = rest.dropFirst(size)
        }
        return (stream, session)
    }

    private func sent(_ request: HTTPRequest) throws -> String {
        let session = HTTP1Session(authority: "service.example:8443")
        try session.open(HTTPStream(request, at: Instant(nanoseconds: 0)), path: request.target)
        var bytes: [UInt8] = []
        session.takeFrames(into: &bytes, limit: .max)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `a request asks for any reply that is not compressed, and a body has its length`() throws {
        let fixed = "Host: service.example:8443\r\nUser-Agent: httpdnsd\r\nAccept-Encoding: identity\r\n"
        #expect(try sent(HTTPRequest(target: "/d?a=b")) == "GET /d?a=b HTTP/1.1\r\n\(fixed)Accept: */*\r\n\r\n")
        let post = HTTPRequest(
            target: "/q", headers: [["accept", "a/b"], ["Content-Type", "c/d"]], body: [0x61, 0x62])
        #expect(
            try sent(post)
                == "POST /q HTTP/1.1\r\n\(fixed)accept: a/b\r\nContent-Type: c/d\r\nContent-Length: 2\r\n\r\nab")
    }

    @Test(arguments: ["/a b", "/a\r\nX: y", "/\u{0}"]) func `no request says more than one`(target: String) {
        #expect(throws: UpstreamFailure.unusable("the request cannot be sent")) {
            try sent(HTTPRequest(target: target))
        }
    }

    @Test(
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", 200, "ab", true),
            ("HTTP/1.1 200\nContent-Length: 2, 2\n\nab", nil, "", false),
            ("HTTP/1.1 200\nContent-Length: 2\n\nab", 200, "ab", true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\nab", 200, "ab", true),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n1;a=b\r\na\r\n0A \r\n0123456789\r\n0\r\nAge: 1\r\n\r\n",
                200, "a0123456789", true
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 200,
                "a", false
            ),
            (
                "HTTP/1.1 103 Hints\r\nContent-Length: 9\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", 404, "",
                true
            ),
            ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, "", true),
            ("HTTP/1.1 204 No Content\r\n\r\n", 204, "", true),
            ("HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\na", 200, "a", false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", 200, "a", false),
            ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na", 200, "a", true),
            ("HTTP/1.1 200 OK\r\nX: y\r\n Content-Length: 9\r\nContent-Length: 1\r\n\r\na", 200, "a", true),
        ] as [(String, Int?, String, Bool)])
    func `a reply ends where its header says, and another request may follow if both ends know where`(
        text: String, status: Int?, body: String, mayFollow: Bool
    ) throws {
        for size in [1, 3, .max] {
            let (stream, session) = try received(text, inPartsOf: size)
            #expect(session.takeEnded().map(\.code) == [status == nil ? .cancel : .none])
            #expect((stream.isAnswered ? stream.status : nil) == status)
            #expect(String(decoding: stream.response.body, as: UTF8.self) == body)
            #expect(session.mayOpen == mayFollow && session.isOver == !mayFollow)
            #expect(stream.response.age == nil)
        }
    }

    @Test(arguments: [
        "SSH-2.0", "HTTP/2 200 OK\r\n", "HTTP/1.1 20 OK\r\n", "HTTP/1.1 2000 OK\r\n", "HTTP/1.1 099 OK\r\n",
        "HTTP/1.1 101 Switching\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n", "HTTP/1.1 200 OK\r\nContent-Length:\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
    ])
    func `a reply whose end is in doubt is none, and its connection is not used again`(text: String) throws {
        for size in [1, .max] {
            let (stream, session) = try received(text, inPartsOf: size)
            #expect(stream.failure == .unusable("the reply is not HTTP"))
            #expect(session.takeEnded().map(\.code) == [.cancel] && session.isOver)
        }
    }

    @Test func `a body that is announced as too long is not awaited`() throws {
        let length = HTTPLimits.body + 1
        for length in ["\(length)", String(repeating: "9", count: 40)] {
            let (stream, _) = try received("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n")
            #expect(stream.failure == .tooLarge)
        }
    }

    @Test func `a body without a length is whole once the server says that it has ended, and not before`() throws {
        let (stream, session) = try received("HTTP/1.1 200 OK\r\n\r\nab")
        #expect(session.takeEnded().isEmpty)
        session.receiveEnd()
        #expect(session.takeEnded().map(\.code) == [.none] && stream.response.body == Array("ab".utf8))
        #expect(session.isOver)
        let (_, other) = try received("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab")
        other.receiveEnd()
        #expect(other.takeEnded().isEmpty && other.isOver)
    }

    @Test func `what comes before a request has gone ends the connection, and the request is not sent there`() throws {
        let session = HTTP1Session(authority: "service.example")
        let stream = HTTPStream(HTTPRequest(target: "/"), at: Instant(nanoseconds: 0))
        try session.open(stream, path: "/")
        Array("HTTP/1.1 204 No\r\n\r\n".utf8).withUnsafeBytes { session.receive($0, at: Instant(nanoseconds: 0)) }
        var sent: [UInt8] = []
        session.takeFrames(into: &sent, limit: .max)
        #expect(session.isOver && sent.isEmpty && !session.isSent(stream))
        #expect(session.takeEnded().isEmpty && stream.status == 0)
    }

    @Test func `what comes without a request ends the connection`() throws {
        let (_, session) = try received("HTTP/1.1 204 No\r\n\r\nHTTP/1.1 204 No\r\n\r\n")
        #expect(session.takeEnded().count == 1 && session.isOver && !session.mayOpen)
    }

    @Test(arguments: [false, true]) func `a request that is given up ends the connection if it was sent`(isSent: Bool)
        throws
    {
        let session = HTTP1Session(authority: "service.example")
        let stream = HTTPStream(HTTPRequest(target: "/"), at: Instant(nanoseconds: 0))
        try session.open(stream, path: "/")
        var bytes: [UInt8] = []
        if isSent { session.takeFrames(into: &bytes, limit: .max) }
        session.reset(stream)
        session.takeFrames(into: &bytes, limit: .max)
        #expect(session.isOver == isSent && session.mayOpen == !isSent && bytes.isEmpty == !isSent)
    }

    @Test func `records of TLS that bring nothing end the connection`() throws {
        let (_, session) = try received("")
        #expect(throws: UpstreamFailure.network("the server sends too much beside replies")) {
            for _ in 0...HTTPLimits.overhead { try session.noteOverhead(1) }
        }
    }
}
