import DNSResolver
import DNSWire
import Foundation
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer

struct HTTPServerConnectionTests {
    private static let message = "application/dns-message"
    private static let token = "0123456789abcdef"
    /// A service with one path.
    private static let echo = ScriptedService { request, reply in
        guard request.path.elementsEqual("/echo".utf8), request.method != .other else { return false }
        reply(HTTPServerResponse(.ok, contentType: "text/plain", body: request.target))
        return true
    }
    private static let goodbye = Frames.frame(.goaway, Frames.number(0) + Frames.number(0))

    @Test func `a cached name is answered with its TTL as the lifetime, and the ID as given`() async throws {
        try await TestServer.run { server in
            try server.store("www.example", ttl: 300)
            let client = try await HTTPSClient(server)
            let response = try client.ask("GET", TestMessage.query("www.example", id: 0).target())
            #expect(response.status == 200)
            #expect(response.fields["content-type"] == Self.message)
            let ttl = response.fields["cache-control"]?.split(separator: "=").last.flatMap { Int($0) }
            #expect((1...300).contains(try #require(ttl)))
            #expect(response.message?.id == 0)
            #expect(response.message?.addresses == ["192.0.2.53"])
            #expect(await server.responder.questions.isEmpty)
        }
    }

    @Test func `other names are answered by the resolver, over the same connection`() async throws {
        try await TestServer.run { server in
            let client = try await HTTPSClient(server)
            for name in ["one.example", "two.example"] {
                let query = TestMessage.query(name, id: 7)
                let response = try client.ask("POST", "/dns-query", type: Self.message, body: query.encoded)
                #expect(response.message?.id == 7)
                #expect(response.message?.questions == [.init(name)])
                #expect(response.fields["cache-control"] == "max-age=60")
            }
        }
    }

    @Test func `an error of DNS has status 200, and no cache holds it`() async throws {
        let responder = FakeResponder { _ in Response(.failure(.serverFailure)) }
        try await TestServer.run(responder: responder) { server in
            let response = try await HTTPSClient(server).ask("GET", TestMessage.query("www.example").target())
            #expect(response.status == 200)
            #expect(response.message?.rcode == 2)
            #expect(response.fields["cache-control"] == "no-store")
        }
    }

    @Test func `what is no query, and another path, have statuses of their own`() async throws {
        try await TestServer.run { server in
            let client = try await HTTPSClient(server)
            #expect(try client.ask("GET", "/dns-query?dns=AAAA").status == 400)
            #expect(try client.ask("GET", "/dns-query").status == 400)
            #expect(try client.ask("POST", "/dns-query", type: "text/plain", body: [1]).status == 415)
            #expect(try client.ask("PUT", "/dns-query").fields["allow"] == "GET, POST")
            #expect(try client.ask("GET", "/").status == 404)
            #expect(try client.ask("GET", TestMessage.query("www.example").target()).status == 200)
        }
    }

    @Test func `a request for another path is offered to the service`() async throws {
        try await TestServer.run { server in
            await server.serve(Self.echo)
            let client = try await HTTPSClient(server)
            #expect(try client.ask("GET", "/echo?a").body == Array("/echo?a".utf8))
            #expect(try client.ask("GET", "/other").status == 404)
        }
    }

    @Test func `the response to HEAD has the length of the body, and no body`() async throws {
        try await TestServer.run { server in
            await server.serve(Self.echo)
            let client = try await HTTPSClient(server)
            // What follows on the connection shows where the response ended.
            client.send("HEAD /echo?a HTTP/1.1\r\nhost: a\r\n\r\nDELETE / HTTP/1.1\r\nhost: a\r\n\r\n")
            let text = client.readText { $0.contains("405") }
            let parts = text.components(separatedBy: "\r\n\r\n")
            #expect(parts[0].hasPrefix("HTTP/1.1 200 OK\r\n") && parts[0].contains("content-length: 7"))
            #expect(parts[1].hasPrefix("HTTP/1.1 405 "))
        }
    }

    @Test func `every response has a date, also one to what is no HTTP`() async throws {
        try await TestServer.run { server in
            let client = try await HTTPSClient(server)
            for text in ["GET / HTTP/1.1\r\nhost: a\r\n\r\n", "GET  / HTTP/1.1\r\nhost: a\r\n\r\n"] {
                client.send(text)
                let date = try client.next().fields["date"] ?? ""
                let form = #/(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT/#
                #expect(date.wholeMatch(of: form) != nil, "\(date)")
            }
        }
    }

    @Test(arguments: [
        ("POST /dns-query HTTP/1.1\r\nhost: a\r\ncontent-length: 200000\r\n\r\n", 413),
        ("POST /dns-query HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n", 411),
        ("GET / HTTP/1.1\r\nhost: a\r\ncookie: ", 431),
    ])
    func `a client that goes on sending after a refusal receives it, and the end, and no reset`(
        head: String, status: Int
    ) async throws {
        try await TestServer.run { server in
            let client = try await HTTPSClient(server)
            client.send(Array(head.utf8) + [UInt8](repeating: 0x61, count: 100_000))
            #expect(try client.next().status == status)
            client.send([UInt8](repeating: 0x61, count: 100_000))
            client.finishSending()
            #expect(client.endsProperly())
            await server.until({ $0.count == 0 }, of: server.server.serving.encrypted)
        }
    }

    @Test func `a client that reads the refusal, and sends without an end, is closed`() async throws {
        try await TestServer.run { server in
            let client = try await HTTPSClient(server)
            client.send("POST /dns-query HTTP/1.1\r\nhost: a\r\ncontent-length: 100000000\r\n\r\n")
            #expect(try client.next().status == 413)
            for _ in 0..<50 { client.send([UInt8](repeating: 0x61, count: 65_536)) }
            await server.until({ $0.count == 0 }, of: server.server.serving.encrypted)
            #expect(client.isClosed())
        }
    }

    @Test func `a client that does not end its side after a refusal is closed a second later`() async throws {
        #expect(ServerLimits().linger == .seconds(1))
        try await TestServer.run(limits: .test { $0.linger = .milliseconds(50) }) { server in
            let client = try await HTTPSClient(server)
            client.send("GET  / HTTP/1.1\r\nhost: a\r\n\r\n")
            #expect(try client.next().status == 400)
            await server.until({ $0.count == 0 }, of: server.server.serving.encrypted)
        }
    }

    @Test func `queries over HTTP2 are answered in the order in which answers arrive`() async throws {
        try await TestServer.run(responder: FakeResponder()) { server in
            try server.store("cached.example")
            let client = try await HTTPSClient(server, alpn: "h2")
            let queries = ["slow.example", "fast.example", "cached.example"].enumerated().flatMap { index, name in
                Frames.headers(UInt32(2 * index + 1), Frames.request("GET", TestMessage.query(name).target()))
            }
            client.send(Frames.preface + Frames.frame(.settings) + queries)
            await server.responder.asked(2)
            await server.responder.release("fast.example")
            await server.responder.release("slow.example")
            var (streams, received): ([UInt32], [UInt8]) = ([], [])
            while streams.count < 3, let bytes = client.receive(), !bytes.isEmpty {
                received += bytes
                streams += Frames.take(from: &received).filter { $0.kind == .data && $0.endsStream }.map(\.stream)
            }
            #expect(streams == [5, 3, 1])
        }
    }

    @Test func `at a handover a client of HTTP2 learns that its connection ends`() async throws {
        let sockets = try ServerSockets.bind([try #require(SocketAddress("127.0.0.1:0"))], threads: 1)
        let server = try await TestServer.start(sockets, responder: .address())
        let client = try await HTTPSClient(server, alpn: "h2")
        client.send(Frames.preface + Frames.frame(.settings))
        #expect(client.receive()?.isEmpty == false)
        _ = await server.server.handOver(connections: 0)
        #expect(client.readAll()?.suffix(17) == Self.goodbye[...])
    }

    // MARK: Clients

    @Test func `a client with a token is answered from anywhere, and one that guesses is not`() async throws {
        try await TestServer.run { server in
            server.rules.replace(with: ClientRules(access: AccessList([]), tokens: AccessTokens([Self.token])))
            server.generation.advance()
            let query = TestMessage.query("www.example")
            let client = try await HTTPSClient(server, address: "192.0.2.1:5000")
            #expect(try client.ask("GET", query.target("/dns-query/\(Self.token)")).message?.rcode == 0)
            #expect(try client.ask("GET", query.target()).message?.rcode == 5)
            let guesser = try await HTTPSClient(server, address: "198.51.100.1:5000")
            for _ in 0..<TokenGuard.guesses {
                #expect(try guesser.ask("GET", query.target("/dns-query/0123456789abcdeg")).status == 404)
            }
            let braked = try guesser.ask("GET", query.target("/dns-query/\(Self.token)"))
            #expect(braked.status == 429)
            #expect(braked.fields["retry-after"] == "60")
            #expect(try client.ask("GET", query.target("/dns-query/\(Self.token)")).message?.rcode == 0)
        }
    }

    // MARK: Time and memory

    @Test(arguments: [nil, "h2"])
    func `a connection on which no whole request comes is closed, whatever else comes`(alpn: String?) async throws {
        try await TestServer.run(limits: .test { $0.idle = .milliseconds(100) }) { server in
            let client = try await HTTPSClient(server, alpn: alpn)
            client.send(alpn == nil ? Array("GET /dns-query?dns=".utf8) : Frames.preface + Frames.frame(.settings))
            // It learns so, over HTTP/2.
            #expect(client.readAll()?.suffix(17) == (alpn == nil ? [] : Self.goodbye[...]))
            #expect(await server.server.serving.encrypted.buffered == 0)
        }
    }

    @Test func `a client that opens no window is closed, and holds no memory then`() async throws {
        try await TestServer.run(limits: .test { $0.stall = .milliseconds(100) }) { server in
            try server.store("www.example")
            let client = try await HTTPSClient(server, alpn: "h2")
            let target = TestMessage.query("www.example").target()
            client.send(
                Frames.preface + Frames.settings((4, 0))
                    + (0..<100).flatMap { Frames.headers(UInt32(2 * $0 + 1), Frames.request("GET", target)) })
            #expect(client.isClosed())
            #expect(await server.server.serving.encrypted.buffered == 0)
        }
    }

    @Test func `a client that resets each request at once is closed, and others are answered`() async throws {
        try await TestServer.run(responder: FakeResponder()) { server in
            try server.store("www.example")
            let client = try await HTTPSClient(server, alpn: "h2")
            client.send(Frames.preface + Frames.frame(.settings))
            for index in 0..<1_000 {
                let stream = UInt32(2 * index + 1)
                let target = TestMessage.query("n\(index).example").target()
                client.send(
                    Frames.headers(stream, Frames.request("GET", target))
                        + Frames.frame(.reset, on: stream, [0, 0, 0, 8]))
            }
            #expect(client.isClosed())
            #expect(await server.responder.questions.count <= TestServer.limits.pendingPerConnection)
            let other = try await HTTPSClient(server)
            #expect(try other.ask("GET", TestMessage.query("www.example").target()).message?.rcode == 0)
        }
    }
}
