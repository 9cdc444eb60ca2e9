import Admin
import HTTPDNS
import Testing

/// What the server writes is what the commands read.
struct ReportTests {
    @Test func `a status report survives the way over the socket`() throws {
        var status = StatusReport()
        status.version = "1.2.3"
        status.uptime = 61
        status.isOn = false
        status.listen = ["127.0.0.1:53", "[::1]:53"]
        var provider = StatusReport.Provider()
        provider.name = "a \"quoted\" \n name\u{7f}"
        provider.isAuthenticated = false
        provider.state = .refused
        provider.retry = 30
        var address = StatusReport.Address()
        address.address = "192.0.2.1:443"
        address.state = .setAside
        address.lastError = "no answer in time"
        address.lastErrorAge = 2
        provider.addresses = [address]
        status.providers = [provider]
        status.localDNS = [.init(address: "192.0.2.53:53", state: .onTrial, retry: nil)]
        status.forwards = [.init(suffixes: ["corp.example"], servers: status.localDNS)]
        status.cache.entries = 7
        #expect(try StatusReport(json: Array(status.json.utf8)) == status)
        #expect(status.json.contains("\"forgeable\":[\"a \\\"quoted\\\" \\n name\\u007f\"]"))
    }

    @Test func `unknown members are passed over`() throws {
        let text = #"{"removed":3,"since":{"a":[1,2]},"later":null}"#
        #expect(try FlushReport(json: Array(text.utf8)) == FlushReport(removed: 3))
    }

    @Test func `a member of another kind is an error`() {
        #expect(throws: JSONError.self) { try FlushReport(json: Array(#"{"removed":"three"}"#.utf8)) }
    }
}
