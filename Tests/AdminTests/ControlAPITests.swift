import DNSCache
import DNSResolver
import DNSWire
import HTTPDNS
import TestSupport
import Testing

@testable import Admin
@testable import DNSServer

/// Which requests the control API accepts, and which it refuses.
@Suite(.onLoop) struct ControlAPITests {
    @Loop private func ask(
        _ method: String, _ path: String, _ parameters: [String: String] = [:], body: String = "",
        as accept: String = "", of target: FakeTarget = FakeTarget()
    ) async -> Reply {
        let response = await ControlAPI(target: target).response(
            to: HTTPServerRequest(method, path, parameters, fields: [.accept: accept], body: Array(body.utf8)))
        return Reply(response, target.commands)
    }

    @Test @Loop func `a request is the command that it names`() async throws {
        let (name, suffix) = (try Name("a.example"), try Name("example.com"))
        let (four, six) = (IPAddress.v4(0xc000_0201), try #require(IPAddress("2001:db8::1")))
        let requests: [(String, String, [String: String], String, ControlCommand)] = [
            ("GET", "/v1/status", [:], "", .status), ("GET", "/v1/policy", [:], "", .policy),
            (
                "GET", "/v1/cache", ["suffix": "Example.COM", "limit": "7", "cursor": "1.2", "records": "true"], "",
                .list(below: suffix, limit: 7, cursor: "1.2", withRecords: true)
            ),
            ("GET", "/v1/cache", [:], "", .list(below: nil, limit: 100, cursor: nil, withRecords: false)),
            (
                "GET", "/v1/cache/entry", ["name": "A.example", "types": "a,MX"], "",
                .show(name, types: ["A", "MX"], written: "A.example")
            ),
            ("GET", "/v1/cache/entry", ["name": "a.example"], "", .show(name, types: nil, written: "a.example")),
            ("GET", "/v1/why", ["name": "A.example"], "", .why(name)),
            (
                "POST", "/v1/trace", [:], #"{"name":"A.example","type":"aaaa"}"#,
                .trace(Question(name: name, type: .aaaa))
            ),
            ("POST", "/v1/trace", [:], #"{"name":"a.example"}"#, .trace(Question(name: name, type: .a))),
            ("POST", "/v1/cache/flush", [:], #"{"name":"a.example"}"#, .flush(.name(name))),
            ("POST", "/v1/cache/flush", [:], #"{"suffix":"example.com"}"#, .flush(.suffix(suffix))),
            ("POST", "/v1/cache/flush", [:], #"{"all":true}"#, .flush(.all)),
            ("POST", "/v1/switch", [:], #"{"switch":"off"}"#, .turn(on: false)),
            ("GET", "/v1/badips", [:], "", .badAddresses),
            (
                "POST", "/v1/badips/add", [:], #"{"address":"192.0.2.1","seconds":60}"#,
                .reportBad(four, lifetime: .seconds(60), written: "192.0.2.1")
            ),
            (
                "POST", "/v1/badips/add", [:], #"{"address":"2001:DB8::1"}"#,
                .reportBad(six, lifetime: .seconds(1_800), written: "2001:DB8::1")
            ),
            (
                "POST", "/v1/badips/remove", [:], #"{"address":"192.0.2.1"}"#,
                .forgetBad(four, written: "192.0.2.1")
            ),
            ("POST", "/v1/reload", [:], "", .reload), ("GET", "/v1/reload", [:], "", .tryReload),
        ]
        for (method, path, parameters, body, command) in requests {
            #expect(await ask(method, path, parameters, body: body).commands == [command])
        }
    }

    @Test @Loop func `a request for queries is for those that it names`() async {
        let target = FakeTarget()
        _ = await ask("GET", "/v1/queries", of: target)
        _ = await ask(
            "GET", "/v1/queries",
            ["suffix": "Example.COM", "client": "192.0.2.77/24", "source": "aliyun", "slower_ms": "100"], of: target)
        var filter = QueryFilter()
        (filter.suffix, filter.network) = (try? Name("example.com"), AddressPrefix("192.0.2.0/24"))
        (filter.source, filter.slower) = ("aliyun", .milliseconds(100))
        #expect(target.filters == [QueryFilter(), filter])
    }

    @Test @Loop func `a command gets what it prints, first what goes to standard error, and how it ends`() async {
        let target = FakeTarget()
        target.report = CommandReport("{}", CommandOutput("a\u{1b}b\nc", remarks: ["d\ne", "f"], exitStatus: 78))
        let reply = await ask("GET", "/v1/status", as: "text/plain", of: target)
        #expect(reply.status == 200 && reply.contentType == "text/plain; charset=utf-8")
        #expect(reply.body == "d\\x0ae\nf\na\\x1bb\nc\n")
        #expect(reply.fields == ["remarks": "2", "exit-status": "78"])
        target.report = CommandReport("{}", CommandOutput(""))
        #expect(await ask("GET", "/v1/status", as: "text/plain", of: target).body == "")
    }

    @Test @Loop func `with --json a command gets the object, how it ends, and faults in words`() async {
        let target = FakeTarget()
        target.report = CommandReport("{}", CommandOutput("", remarks: ["nothing"], exitStatus: 1))
        let shown = await ask("GET", "/v1/status", as: "application/json, text/plain", of: target)
        #expect(shown.contentType == "application/json" && shown.fields == ["exit-status": "1"])
        #expect(shown.body == "{}\n")
        let wrong = await ask("GET", "/v1/cache", ["limit": "0"], as: "application/json, text/plain")
        #expect(wrong.status == 400 && wrong.body == "limit: not a number from 1 to 1000\n")
        #expect(await ask("GET", "/v1/cache", ["limit": "0"], as: "*/*").body.hasPrefix("{\"error\":"))
    }

    @Test @Loop func `a list comes a line an answer, as objects or as cells, with where it continues`() async {
        let target = FakeTarget()
        target.report = CommandReport(
            "{}", CommandOutput(""), rows: { [["a", "b\tc"], ["d"]] }, objects: { ["{1}", "{2}"] }, next: "1.2")
        let rows = await ask("GET", "/v1/cache", as: "text/tab-separated-values", of: target)
        #expect(rows.body == "a\tb\\x09c\nd\n" && rows.fields == ["next": "1.2"])
        let objects = await ask("GET", "/v1/cache", as: "application/x-ndjson, text/plain", of: target)
        #expect(objects.body == "{1}\n{2}\n" && objects.fields == ["next": "1.2"])
        #expect(await ask("GET", "/v1/cache", of: target).body == "{}\n")
    }

    @Test @Loop func `what is refused is 422 with its report, and what cannot be done is a fault`() async {
        let target = FakeTarget()
        target.report = CommandReport("{\"errors\":[]}", CommandOutput(""), isRefused: true)
        let refused = await ask("POST", "/v1/reload", of: target)
        #expect(refused.status == 422 && refused.body == "{\"errors\":[]}\n")
        target.fault = .notFound("192.0.2.9 is not reported")
        let fault = await ask("POST", "/v1/badips/remove", body: #"{"address":"192.0.2.9"}"#, of: target)
        #expect(fault.status == 404 && fault.body == "{\"error\":\"192.0.2.9 is not reported\"}\n")
    }

    @Test(
        arguments: [
            ("GET", "/v1/cache", ["limit": "0"], ""), ("GET", "/v1/cache", ["limit": "1001"], ""),
            ("GET", "/v1/cache", ["limit": "-1"], ""),
            ("GET", "/v1/cache", ["limit": "+1"], ""), ("GET", "/v1/cache", ["limit": "9223372036854775808"], ""),
            ("POST", "/v1/badips/add", [:], #"{"address":"192.0.2.1","seconds":2592001}"#),
            ("GET", "/v1/cache", ["sufix": "x"], ""), ("GET", "/v1/cache", ["suffix": "a..b"], ""),
            ("GET", "/v1/cache/entry", [:], ""),
            ("GET", "/v1/cache/entry", ["name": "a.example", "types": "A,NIX"], ""),
            ("GET", "/v1/status", ["x": ""], ""),
            ("POST", "/v1/cache/flush", [:], ""), ("POST", "/v1/cache/flush", [:], "{}"),
            ("POST", "/v1/cache/flush", [:], #"{"all":false}"#),
            ("POST", "/v1/cache/flush", [:], #"{"all":true,"name":"a.example"}"#),
            ("POST", "/v1/cache/flush", [:], #"{"sufix":"a.example"}"#),
            ("POST", "/v1/cache/flush", [:], #"{"name":7}"#), ("POST", "/v1/cache/flush", [:], #"["all"]"#),
            ("POST", "/v1/cache/flush", [:], "{\"name\":\"\u{0}\"}"),
            ("GET", "/v1/queries", ["client": "a.example"], ""), ("GET", "/v1/queries", ["client": "192.0.2.0/33"], ""),
            ("GET", "/v1/queries", ["slower_ms": "-1"], ""), ("GET", "/v1/queries", ["slower_ms": "60001"], ""),
            ("GET", "/v1/queries", ["slower_ms": "1s"], ""), ("GET", "/v1/queries", ["suffix": "a..b"], ""),
            ("GET", "/v1/queries", ["name": "a.example"], ""),
            ("POST", "/v1/trace", [:], "{}"), ("POST", "/v1/trace", [:], #"{"name":"a..b"}"#),
            ("POST", "/v1/trace", [:], #"{"name":"a.example","type":"ANY"}"#),
            ("POST", "/v1/switch", [:], #"{"switch":"maybe"}"#),
            ("POST", "/v1/switch", ["switch": "off"], ""), ("POST", "/v1/switch", [:], "{"),
            ("POST", "/v1/badips/add", [:], #"{"address":"example.com"}"#),
            ("POST", "/v1/badips/add", [:], #"{"address":"192.0.2.1","seconds":0}"#),
            ("POST", "/v1/badips/add", [:], #"{"address":"192.0.2.1","seconds":99999999999999999999}"#),
            ("POST", "/v1/reload", [:], #"{"file":"/etc/shadow"}"#),
            ("POST", "/v1/reload", [:], #"{"socket":"/tmp/x"}"#),
        ] as [(String, String, [String: String], String)]) @Loop
    func `what is not understood is 400, says why, and changes nothing`(
        method: String, path: String, parameters: [String: String], body: String
    ) async {
        let reply = await ask(method, path, parameters, body: body)
        #expect(reply.status == 400)
        #expect(reply.body.hasPrefix("{\"error\":\"") && reply.body.hasSuffix("\"}\n") && reply.body.count > 15)
        #expect(reply.commands.isEmpty)
    }

    @Test @Loop func `a source that no query has is refused with those that there are`() async {
        let reply = await ask("GET", "/v1/queries", ["source": "aliyn"])
        #expect(reply.status == 400)
        #expect(reply.body.contains(#"source: there is no \"aliyn\", but: cache, aliyun, -"#))
    }

    @Test @Loop func `queries are shown to four clients, to a fifth only once one of them has gone`() async {
        let target = FakeTarget()
        func listen() async -> HTTPServerResponse { await ask("GET", "/v1/queries", of: target).response }
        var responses: [HTTPServerResponse] = []
        for _ in 0..<QueryListeners.limit { responses.append(await listen()) }
        #expect(responses.allSatisfy { $0.status == .ok && $0.contentType?.description == "application/x-ndjson" })
        let refused = await listen()
        #expect(refused.status == .unavailable)
        #expect(String(decoding: refused.body, as: UTF8.self).contains("4 clients are shown queries already"))
        responses.removeFirst()
        #expect(await listen().status == .ok)
        responses = []
        #expect(target.listeners.isEmpty)
    }

    @Test @Loop func `another path is 404, another method 405`() async {
        #expect(await ask("GET", "/").status == 404)
        #expect(await ask("GET", "/v1/statuses").status == 404)
        #expect(await ask("DELETE", "/v1/cache").status == 405)
        #expect(await ask("DELETE", "/v1/reload").status == 405)
    }

    /// Records what it is to do, and has one report on everything.
    @Loop
    private final class FakeTarget: ControlTarget {
        private(set) var commands: [ControlCommand] = []
        private(set) var filters: [QueryFilter] = []
        var report = CommandReport("{}", CommandOutput(""))
        var fault: ControlFault?
        let listeners = QueryListeners(clock: ManualClock())
        let querySources = ["cache", "aliyun", "-"]

        nonisolated init() {}

        func perform(_ command: ControlCommand) async throws(ControlFault) -> CommandReport {
            commands.append(command)
            if let fault { throw fault }
            return report
        }

        func listen(for filter: QueryFilter) -> QueryListener? {
            filters.append(filter)
            return listeners.add(filter)
        }
    }

    @Test @Loop func `a body beyond the limit is refused as too large`() async {
        let body = #"{"all":true}"#
        let spaces = String(repeating: " ", count: ControlAPI.bodyLimit - body.utf8.count)
        #expect(await ask("POST", "/v1/cache/flush", body: body + spaces).commands == [.flush(.all)])
        let refused = await ask("POST", "/v1/cache/flush", body: body + spaces + " ")
        #expect(refused.status == 413 && refused.commands.isEmpty)
    }
}

/// What a test looks at.
struct Reply {
    let response: HTTPServerResponse
    let status: Int
    let contentType: String
    let body: String
    let fields: [String: String]
    /// What the target was asked to do.
    let commands: [ControlCommand]

    init(_ response: HTTPServerResponse, _ commands: [ControlCommand] = []) {
        (self.response, self.commands) = (response, commands)
        status = Int(response.status.code) ?? 0
        contentType = response.contentType?.description ?? ""
        body = String(decoding: response.body, as: UTF8.self)
        fields = Dictionary(uniqueKeysWithValues: response.fields.map { ($0.name, $0.value) })
    }

    var feed: HTTPServerFeed? { response.feed }
}

extension HTTPServerRequest {
    /// - Parameter parameters: of the query; encoded here.
    init(
        _ method: String, _ path: String, _ parameters: [String: String] = [:], fields: [Field: String] = [:],
        body: [UInt8] = []
    ) {
        let query = parameters.map { "\($0)=\(TextEncoding.percent($1))" }.joined(separator: "&")
        self.init(
            method: ["GET": .get, "HEAD": .head, "POST": .post][method] ?? .other,
            target: Array((query.isEmpty ? path : "\(path)?\(query)").utf8), fields: fields, body: body)
    }
}
