import Scheduling
import TestSupport
import Testing

@testable import Admin

/// What the monitoring interface answers, and to which requests.
@Suite(.onLoop)
struct MonitorAPITests {
    @Loop
    private final class FakeTarget: MonitorTarget {
        var status = StatusReport()
        var traffic = TrafficReport()
        var unreadiness: String?
    }

    @Loop
    private func ask(
        _ path: String, method: String = "GET", host: String? = "127.0.0.1:9053", accept: String? = nil,
        unreadiness: String? = nil
    ) async -> ControlResponse {
        let target = FakeTarget()
        target.status.version = "1.2.3"
        target.unreadiness = unreadiness
        return await MonitorAPI(target: target, hostName: "node7").respond(
            to: ControlRequest(method: method, path: path, host: host, accept: accept))
    }

    @Test @Loop func `metrics come as Prometheus text`() async {
        let response = await ask("/metrics")
        #expect(response.status == 200 && response.contentType == "text/plain; version=0.0.4; charset=utf-8")
        #expect(response.body.contains("\nhttpdnsd_build_info{version=\"1.2.3\"} 1\n"))
    }

    @Test @Loop func `metrics come as OpenMetrics to a client that asks for it`() async {
        let response = await ask(
            "/metrics", accept: "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
        #expect(response.contentType == "application/openmetrics-text; version=1.0.0; charset=utf-8")
        #expect(response.body.hasSuffix("\n# EOF\n"))
    }

    @Test @Loop func `a server that runs is healthy, ready or not`() async {
        #expect(await ask("/healthz", unreadiness: "stopping").status == 200)
    }

    @Test @Loop func `a server that no source can answer is not ready, and says why`() async {
        let response = await ask("/readyz", unreadiness: "no source can be asked")
        #expect(response.status == 503 && response.body == "no source can be asked\n")
        #expect(await ask("/readyz").status == 200)
    }

    @Test(arguments: [
        nil, "127.0.0.1", "127.0.0.1:9053", "[::1]:9053", "[2001:db8::1]", "localhost:9053", "LOCALHOST", "node7:9053",
        "Node7",
    ])
    @Loop func `this machine may be asked by address, as localhost and by its name`(host: String?) async {
        #expect(await ask("/metrics", host: host).status == 200)
    }

    @Test(arguments: [
        "evil.example", "evil.example:9053", "127.0.0.1.evil.example", "node7.evil.example", "localhost.evil.example",
        "",
        "[::1", ":9053",
    ])
    @Loop func `a name of the Internet that points here reads nothing`(host: String) async {
        let response = await ask("/metrics", host: host)
        #expect(response.status == 421 && !response.body.contains("httpdnsd_"))
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "OPTIONS"])
    @Loop func `nothing can be changed`(method: String) async {
        let response = await ask("/metrics", method: method)
        #expect(response.status == 405 && response.fields == [.init(name: "Allow", value: "GET, HEAD")])
    }

    @Test @Loop func `another path is not found`() async {
        #expect(await ask("/v1/status").status == 404)
    }
}
