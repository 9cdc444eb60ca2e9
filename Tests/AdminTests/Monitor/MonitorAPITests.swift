import DNSServer
import DNSWire
import TestSupport
import Testing

@testable import Admin

/// What the monitoring interface answers, and to which requests.
@Suite(.onLoop) struct MonitorAPITests {
    @Loop
    private final class FakeTarget: MonitorTarget {
        var status = StatusReport()
        let hosts = HTTPHosts(machine: "node7")
        var traffic = TrafficReport()
        var hottestNames: [NameCount]?
        func metrics(in format: MetricsFormat) -> String { "# of the service\n" }
        var unreadiness: String?
        private(set) var traced: [Question] = []

        func findings(in status: StatusReport) -> [Finding] {
            status.clock.isEmpty ? [] : [Finding("clock.wrong", .error, status.clock, mend: "`timedatectl`")]
        }

        func trace(_ question: Question) async -> TraceReport {
            traced.append(question)
            return TraceReport()
        }
    }

    @Loop private func ask(
        _ path: String, method: String = "GET", host: String? = "127.0.0.1:9053", accept: String? = nil,
        unreadiness: String? = nil, parameters: [String: String] = [:], site: String? = nil, origin: String? = nil,
        looksUp: Bool = true, names: [NameCount]? = nil, providers: [StatusReport.Provider] = [],
        clock: String = ""
    ) async -> Reply {
        let target = FakeTarget()
        target.hottestNames = names
        target.status.providers = providers
        target.status.clock = clock
        target.status.version = "1.2.3"
        target.unreadiness = unreadiness
        var fields: [HTTPServerRequest.Field: String] = [:]
        (fields[.host], fields[.accept], fields[.site], fields[.origin]) = (host, accept, site, origin)
        let response = await MonitorAPI(target: target, looksUp: looksUp, clock: ManualClock())
            .response(to: HTTPServerRequest(method, path, parameters, fields: fields))
        return Reply(response)
    }

    @Test @Loop func `metrics come as Prometheus text`() async {
        let response = await ask("/metrics")
        #expect(response.status == 200 && response.contentType == "text/plain; version=0.0.4; charset=utf-8")
        #expect(response.body.contains("\nhttpdnsd_build_info{version=\"1.2.3\"} 1\n"))
        #expect(response.body.contains("\n# of the service\n"))
    }

    @Test @Loop func `an address is up unless it is in backoff`() async {
        var provider = StatusReport.Provider()
        provider.name = "vendor"
        provider.addresses = [StatusReport.State.used, .inBackoff, .probeDue].map { state in
            var address = StatusReport.Address()
            (address.address, address.state) = ("\(state)", state)
            return address
        }
        let lines = await ask("/metrics", providers: [provider]).body.split(separator: "\n")
        let values = lines.filter { $0.hasPrefix("httpdnsd_provider_address_up{") }.map { $0.suffix(2) }
        #expect(values == [" 1", " 0", " 1"])
    }

    @Test @Loop func `metrics come as OpenMetrics to a client that asks for it`() async {
        let response = await ask(
            "/metrics", accept: "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
        #expect(response.contentType == "application/openmetrics-text; version=1.0.0; charset=utf-8")
        #expect(response.body.hasSuffix("\n# EOF\n"))
    }

    @Test @Loop func `a server that no source can answer is not ready, and says why; it is healthy all the same`() async
    {
        let response = await ask("/readyz", unreadiness: "no source can be asked")
        #expect(response.status == 503 && response.body == "no source can be asked\n")
        #expect(await ask("/readyz").status == 200)
        #expect(await ask("/healthz", unreadiness: "stopping").status == 200)
    }

    @Test(arguments: [nil, "127.0.0.1:9053", "node7", "httpdnsd.monitoring.svc.cluster.local:9053", "evil.example"])
    @Loop
    func `monitors may ask by any name`(host: String?) async {
        for path in ["/metrics", "/healthz", "/readyz"] { #expect(await ask(path, host: host).status == 200) }
    }

    @Test(arguments: ["/", "/events", "/trace"]) @Loop
    func `the page and what it reads are for no name of the Internet that points here`(path: String) async {
        for host in ["evil.example", "[::1].evil.example", "node7.evil.example", ""] {
            let response = await ask(path, host: host, parameters: path == "/trace" ? ["name": "a.example"] : [:])
            #expect(response.status == 421 && response.feed == nil && response.body.contains("control.http_names"))
        }
        #expect(await ask(path, host: "node7:9053", parameters: ["name": "a.example"]).status == 200)
    }

    @Test @Loop func `a link of another site leads to the page, and that site gets none of its numbers`() async {
        #expect(await ask("/", site: "cross-site").status == 200)
        #expect(await ask("/events", site: "same-origin").status == 200)
        #expect(await ask("/events", site: "cross-site").status == 403)
        #expect(await ask("/events", origin: "http://evil.example").status == 403)
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "OPTIONS"]) @Loop
    func `nothing can be changed`(method: String) async {
        let response = await ask("/metrics", method: method)
        #expect(response.status == 405 && response.fields == ["allow": "GET, HEAD"])
    }

    @Test(arguments: [
        ("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript"), ("/qr.js", "text/javascript"),
        ("/words.js", "text/javascript"),
    ]) @Loop
    func `the page runs nothing but its own files`(path: String, type: String) async {
        let response = await ask(path)
        #expect(response.status == 200 && response.contentType == "\(type); charset=utf-8" && !response.body.isEmpty)
        let policy = response.fields["content-security-policy"] ?? ""
        #expect(policy.hasPrefix("default-src 'none'; style-src 'self'; script-src 'self';"))
        #expect(!policy.contains("unsafe") && response.fields["x-content-type-options"] == "nosniff")
        for text in [" onclick=", "innerHTML", "<style>", "<script>"] { #expect(!response.body.contains(text)) }
    }

    @Test @Loop func `the page with all that it brings has 40 KiB at most`() async {
        var size = 0
        for path in ["/", "/page.css", "/page.js", "/words.js", "/qr.js"] { size += await ask(path).body.utf8.count }
        #expect((20 << 10...40 << 10).contains(size), "\(size) bytes")
    }

    @Test @Loop func `the page gets its numbers as events, one object in one line`() async {
        let response = await ask("/events", unreadiness: "stopping")
        let event = response.feed?.next() ?? ""
        #expect(response.contentType == "text/event-stream" && response.feed?.interval == .seconds(2))
        #expect(event.hasPrefix("data: {\"verdict\":{\"level\":\"red\",") && event.hasSuffix("}\n\n"))
        #expect(event.contains("\"key\":\"server.unready\"") && event.split(separator: "\n").count == 1)
    }

    @Test @Loop func `the page gets the steps of the last hour and of the last day`() async {
        let event = await ask("/events").feed?.next() ?? ""
        for (name, seconds) in [("hour", 30), ("day", 720)] {
            #expect(
                event.contains(
                    "\"\(name)\":{\"step_seconds\":\(seconds),\"elapsed_seconds\":0,\"steps\":[],\"current\":[0,0]}"))
        }
    }

    @Test @Loop func `the page gets what doctor finds in the status, with the command that mends it`() async {
        let event = await ask("/events", clock: "the clock is wrong").feed?.next() ?? ""
        #expect(
            event.contains(
                "{\"level\":\"amber\",\"key\":\"clock.wrong\",\"severity\":\"error\",\"sentence\":\"the clock is wrong\",\"remedy\":\"`timedatectl`\"}"
            ))
    }

    @Test @Loop func `the page gets the names asked for most where they may be shown, and no other machine does`() async
    {
        let names = [NameCount("<script>\".example", 3)]
        let shown = await ask("/events", names: names).feed?.next() ?? ""
        #expect(shown.contains("\"names\":[{\"label\":\"<script>\\\".example\",\"count\":3}]"))
        #expect(await ask("/events").feed?.next()?.contains("\"names\"") == false)
        #expect(await ask("/events", looksUp: false, names: names).feed?.next()?.contains("\"names\"") == false)
        #expect(await !ask("/metrics", names: names).body.contains("example"))
    }

    @Test @Loop func `a name is looked up for this machine's own page`() async {
        let name = ["name": "www.example.com", "type": "AAAA"]
        #expect(await ask("/trace", parameters: name, site: "same-origin").status == 200)
        #expect(await ask("/trace", parameters: name).status == 200)
    }

    @Test @Loop func `a page of another site, or another machine, makes the server ask nothing`() async {
        let name = ["name": "www.example.com"]
        for site in ["cross-site", "same-site"] {
            #expect(await ask("/trace", parameters: name, site: site).status == 403)
        }
        #expect(await ask("/trace", parameters: name, looksUp: false).status == 403)
    }

    @Test(arguments: [[:], ["name": "a..b"], ["name": "a.example", "type": "ANY"]]) @Loop
    func `what is no name or type is refused`(parameters: [String: String]) async {
        #expect(await ask("/trace", parameters: parameters).status == 400)
    }

    @Test @Loop func `another path is not found`() async {
        #expect(await ask("/v1/status").status == 404)
    }
}
