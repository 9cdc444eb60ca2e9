import DNSCache
import DNSResolver
import DNSServer
import DNSWire
import HTTPDNS
import Scheduling
import TestSupport
import Testing

@testable import Admin

/// Which requests the control API accepts, and which it refuses.
@Suite(.onLoop)
struct ControlAPITests {
    @Loop
    private func ask(_ method: String, _ path: String, _ parameters: [String: String] = [:], body: String = "")
        async -> (status: Int, body: String, target: FakeTarget)
    {
        let target = FakeTarget()
        let response = await ControlAPI(target: target).response(
            to: HTTPServerRequest(method, path, parameters, body: Array(body.utf8)))
        return (response.status.rawValue, String(decoding: response.body, as: UTF8.self), target)
    }

    @Test @Loop func `status is one object`() async {
        let reply = await ask("GET", "/v1/status")
        #expect(reply.status == 200)
        #expect(reply.body.hasPrefix("{\"version\":\"fake\",") && reply.body.hasSuffix("}\n"))
    }

    @Test @Loop func `a request reaches what it names`() async {
        #expect(
            await ask("GET", "/v1/cache", ["suffix": "Example.COM", "limit": "7", "cursor": "1.2"]).target.calls
                == ["list example.com 7 1.2"])
        #expect(await ask("GET", "/v1/cache").target.calls == ["list - 100 -"])
        #expect(await ask("GET", "/v1/cache/entry", ["name": "a.example"]).target.calls == ["show a.example"])
        #expect(await ask("GET", "/v1/why", ["name": "A.example"]).target.calls == ["why a.example"])
        #expect(
            await ask("POST", "/v1/trace", body: #"{"name":"A.example","type":"aaaa"}"#).target.calls
                == ["trace a.example AAAA"])
        #expect(await ask("POST", "/v1/trace", body: #"{"name":"a.example"}"#).target.calls == ["trace a.example A"])
        #expect(
            await ask("POST", "/v1/cache/flush", body: #"{"suffix":"example.com"}"#).target.calls
                == ["flush suffix example.com"])
        #expect(await ask("POST", "/v1/cache/flush", body: #"{"all":true}"#).target.calls == ["flush all"])
        #expect(await ask("POST", "/v1/switch", body: #"{"switch":"off"}"#).target.calls == ["turn false"])
        #expect(
            await ask("POST", "/v1/badips/add", body: #"{"address":"192.0.2.1","seconds":60}"#).target.calls
                == ["add 192.0.2.1 60"])
        #expect(
            await ask("POST", "/v1/badips/add", body: #"{"address":"2001:db8::1"}"#).target.calls
                == ["add 2001:db8::1 1800"])
        #expect(await ask("GET", "/v1/queries").target.calls == ["listen - - - -"])
        #expect(
            await ask(
                "GET", "/v1/queries",
                ["suffix": "Example.COM", "client": "192.0.2.77/24", "source": "aliyun", "slower_ms": "100"]
            ).target.calls == ["listen example.com 192.0.2.0/24 aliyun 0.1 seconds"])
        #expect(await ask("POST", "/v1/reload").target.calls == ["reload"])
        #expect(await ask("GET", "/v1/reload").target.calls == ["try reload"])
        #expect(await ask("POST", "/v1/handover").target.calls == ["hand over"])
    }

    @Loop
    private func reply(
        _ method: String, _ path: String, _ parameters: [String: String] = [:], body: String = "", as accept: String,
        _ target: FakeTarget = FakeTarget()
    ) async -> (response: HTTPServerResponse, body: String, fields: [String: String]) {
        let response = await ControlAPI(target: target).response(
            to: HTTPServerRequest(method, path, parameters, fields: [.accept: accept], body: Array(body.utf8)))
        return (
            response, String(decoding: response.body, as: UTF8.self),
            Dictionary(uniqueKeysWithValues: response.fields.map { ($0.name, $0.value) })
        )
    }

    @Test @Loop func `a command gets what it prints, first what goes to standard error, and how it ends`() async {
        let status = await reply("GET", "/v1/status", as: "text/plain")
        #expect(status.response.contentType == "text/plain; charset=utf-8" && status.fields.isEmpty)
        #expect(status.body.hasPrefix("httpdnsd  fake, up 0 s, process 0\n"))
        let shown = await reply("GET", "/v1/cache/entry", ["name": "WWW.example"], as: "text/plain")
        #expect(shown.body == "nothing is cached under WWW.example\n")
        #expect(shown.fields == ["remarks": "1", "exit-status": "1"])
        let asked = await reply("GET", "/v1/cache/entry", ["name": "a.example", "types": "a,MX"], as: "text/plain")
        #expect(asked.body == "a.example A MX is not cached\n" && asked.fields["exit-status"] == "1")
        let bad = await reply("POST", "/v1/badips/add", body: #"{"address":"2001:DB8::1"}"#, as: "text/plain")
        #expect(bad.body == "2001:DB8::1 goes to the end of answers; 0 cached answers forgotten\n")
        let target = FakeTarget()
        target.reloadErrors = ["a\u{1b}b", "c"]
        let reload = await reply("POST", "/v1/reload", as: "text/plain", target)
        #expect(reload.body == "a\\x1bb\nc\n" && reload.fields == ["remarks": "2", "exit-status": "78"])
    }

    @Test @Loop func `with --json a command gets the object, how it ends, and faults in words`() async {
        let shown = await reply("GET", "/v1/cache/entry", ["name": "a.example"], as: "application/json, text/plain")
        #expect(shown.response.contentType == "application/json" && shown.fields == ["exit-status": "1"])
        #expect(shown.body == "{\"entries\":[],\"next\":null,\"forged\":[]}\n")
        let wrong = await reply("GET", "/v1/cache", ["limit": "0"], as: "application/json, text/plain")
        #expect(wrong.response.status == .badRequest && wrong.body == "limit: not a number from 1 to 1000\n")
        #expect(await reply("GET", "/v1/cache", ["limit": "0"], as: "*/*").body.hasPrefix("{\"error\":"))
    }

    @Test @Loop func `a list comes a line an answer, as objects or as cells, with where it continues`() async {
        let target = FakeTarget()
        var entry = CacheReport.Entry()
        (entry.name, entry.type, entry.source, entry.addresses) = ("a.example", "A", "a\tb", ["192.0.2.1"])
        (entry.status, entry.ttl, entry.age) = ("NOERROR", 7, 3)
        target.page = CacheReport(entries: [entry, entry], next: "1.2")
        let rows = await reply("GET", "/v1/cache", as: "text/tab-separated-values", target)
        #expect(rows.body == "a.example\tA\t7\t3\ta\\x09b\t192.0.2.1\n".repeated(2))
        #expect(rows.fields == ["next": "1.2"])
        let objects = await reply("GET", "/v1/cache", as: "application/x-ndjson, text/plain", target)
        #expect(objects.body == "\(entry.json)\n".repeated(2) && objects.fields == ["next": "1.2"])
    }

    @Test @Loop func `a reload that is refused is 422`() async {
        let target = FakeTarget()
        target.reloadErrors = ["line 1 is wrong"]
        let response = await ControlAPI(target: target).response(to: HTTPServerRequest("POST", "/v1/reload"))
        #expect(response.status == .unprocessable)
        #expect(String(decoding: response.body, as: UTF8.self).contains("line 1 is wrong"))
    }

    @Test(
        arguments: [
            ("GET", "/v1/cache", ["limit": "0"], ""), ("GET", "/v1/cache", ["limit": "1001"], ""),
            ("GET", "/v1/cache", ["limit": "-1"], ""),
            ("GET", "/v1/cache", ["limit": "+1"], ""), ("GET", "/v1/cache", ["limit": "9223372036854775808"], ""),
            ("POST", "/v1/badips/add", [:], #"{"address":"192.0.2.1","seconds":2592001}"#),
            ("GET", "/v1/cache", ["cursor": "bad"], ""),
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
            ("POST", "/v1/handover", [:], #"{"socket":"/tmp/x"}"#),
        ] as [(String, String, [String: String], String)])
    @Loop
    func `what is not understood is 400, says why, and changes nothing`(
        method: String, path: String, parameters: [String: String], body: String
    ) async {
        let reply = await ask(method, path, parameters, body: body)
        #expect(reply.status == 400)
        #expect(reply.body.hasPrefix("{\"error\":\"") && reply.body.hasSuffix("\"}\n") && reply.body.count > 15)
        #expect(reply.target.calls.allSatisfy { $0.hasPrefix("list") })
    }

    @Test @Loop func `a source that no query has is refused with those that there are`() async {
        let reply = await ask("GET", "/v1/queries", ["source": "aliyn"])
        #expect(reply.status == 400 && reply.target.calls.isEmpty)
        #expect(reply.body.contains(#"source: there is no \"aliyn\", but: cache, aliyun, -"#))
    }

    @Test @Loop func `queries are shown to four clients, to a fifth only once one of them has gone`() async {
        let target = FakeTarget()
        func listen() async -> HTTPServerResponse {
            await ControlAPI(target: target).response(to: HTTPServerRequest("GET", "/v1/queries"))
        }
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
        #expect(await ask("POST", "/v1/badips/remove", body: #"{"address":"192.0.2.9"}"#).status == 404)
    }

    /// Records its calls.
    @Loop
    private final class FakeTarget: ControlTarget {
        var calls: [String] = []
        var reloadErrors: [String] = []
        var page = CacheReport()
        let listeners = QueryListeners(clock: ManualClock())
        let querySources = ["cache", "aliyun", "-"]

        nonisolated init() {}

        var status: StatusReport {
            var status = StatusReport()
            status.version = "fake"
            return status
        }

        func testimony(of status: StatusReport) -> [[String]] { [["version", status.version]] }

        func cached(below suffix: Name?, limit: Int, cursor: String?, withRecords: Bool) async -> CacheReport? {
            calls.append("list \(suffix?.description ?? "-") \(limit) \(cursor ?? "-")")
            return cursor == "bad" ? nil : page
        }

        func cached(_ name: Name) async -> CacheReport {
            calls.append("show \(name)")
            return CacheReport()
        }

        func why(_ name: Name) -> WhyReport {
            calls.append("why \(name)")
            return WhyReport(lines: ["state=not-cached"])
        }

        func trace(_ question: Question) async -> TraceReport {
            calls.append("trace \(question.name) \(question.type)")
            return TraceReport()
        }

        func listen(for filter: QueryFilter) -> QueryListener? {
            calls.append(
                "listen \(filter.suffix?.description ?? "-") \(filter.network?.description ?? "-") "
                    + "\(filter.source ?? "-") \(filter.slower.map { "\($0)" } ?? "-")")
            return listeners.add(filter)
        }

        func flush(_ what: AnswerRemoval) async -> Int {
            switch what {
            case .all: calls.append("flush all")
            case .name(let name): calls.append("flush name \(name)")
            case .suffix(let name): calls.append("flush suffix \(name)")
            case .holding(let address): calls.append("flush holding \(address)")
            }
            return 0
        }

        func tryReload() async -> ReloadReport {
            calls.append("try reload")
            return ReloadReport()
        }

        func turn(on isOn: Bool) async -> SwitchReport {
            calls.append("turn \(isOn)")
            return SwitchReport(isOn: true, isOffByPolicy: false, isStored: true, generation: 0)
        }

        var badAddresses: BadAddressReport { BadAddressReport(addresses: [], removed: 0) }

        func reportBad(_ address: IPAddress, lifetime: Duration) async -> BadAddressReport {
            calls.append("add \(address) \(lifetime.components.seconds)")
            return BadAddressReport(addresses: [], removed: 0)
        }

        func forgetBad(_ address: IPAddress) async -> BadAddressReport? { nil }

        func handOver() async -> Int? {
            calls.append("hand over")
            return 0
        }

        func reload() async -> ReloadReport {
            calls.append("reload")
            var report = ReloadReport()
            report.errors = reloadErrors
            return report
        }
    }

    @Test @Loop func `a body beyond the limit is refused as too large`() async {
        let body = #"{"all":true}"#
        let spaces = String(repeating: " ", count: ControlAPI.bodyLimit - body.utf8.count)
        #expect(await ask("POST", "/v1/cache/flush", body: body + spaces).target.calls == ["flush all"])
        let refused = await ask("POST", "/v1/cache/flush", body: body + spaces + " ")
        #expect(refused.status == 413 && refused.target.calls.isEmpty)
    }
}

extension String {
    fileprivate func repeated(_ count: Int) -> String { String(repeating: self, count: count) }
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
