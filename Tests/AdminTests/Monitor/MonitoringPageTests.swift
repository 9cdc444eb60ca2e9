import Foundation
import Platform
import Testing

@testable import Admin

/// Documentation/Monitoring.md against the code.
struct MonitoringPageTests {
    /// A report in which every family has a sample.
    private var text: String {
        var status = StatusReport()
        status.cache.file = "/var/lib/httpdnsd/cache.sqlite"
        status.dnstap = StatusReport.Dnstap()
        status.encrypted = StatusReport.Encrypted()
        var apps = StatusReport.Apps()
        apps.requests = [.init(result: "answered", count: 1)]
        apps.accounts = [.init(id: "1", names: 1, limit: 1)]
        status.apps = apps
        status.shared.address = "192.0.2.1:6379"
        status.policy.url = "https://policy.example.com/a"
        var provider = StatusReport.Provider()
        (provider.dailyLimit, provider.monthlyLimit) = (1, 1)
        (provider.callsForecast, provider.billedForecast) = (1, 1)
        (provider.fleetServers, provider.fleetToday, provider.fleetThisMonth) = (2, 1, 1)
        var address = StatusReport.Address()
        (address.responseMilliseconds, address.pace) = (1, 8)
        provider.addresses = [address]
        status.providers = [provider]
        let server = StatusReport.Server(address: "192.0.2.53:53", state: .used, retry: nil, group: nil)
        status.localDNS = [server]
        status.forwards = [.init(suffixes: [], servers: [server])]
        var traffic = TrafficReport()
        traffic.resources = ProcessResources()
        let histogram = HistogramReport(bounds: [1], counts: [1, 0], sum: 0.5)
        traffic.answers = [.init("cache", histogram)]
        traffic.providers = [.init("aliyun", histogram)]
        traffic.refusals = [.init("access", 1)]
        traffic.forgeries = [.init("192.0.2.53:53", 1)]
        (traffic.ttlLeft, traffic.staleShare) = (300, 0.1)
        traffic.responses = [.init(transport: "udp", family: "ipv4", code: "NOERROR", count: 1)]
        return Metrics.text(status, traffic, .prometheus)
    }

    @Test func `every metric has its line in the page, with its kind, and no other has`() throws {
        let page = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../Documentation/Monitoring.md"), encoding: .utf8)
        let rows = page.split(separator: "\n").filter {
            $0.hasPrefix("| `") && !$0.hasPrefix("| `/") && $0.split(separator: "|").count == 3
        }
        let documented = rows.map { row in
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let name = cells[0].split(separator: "`")[0]
            return "\(name.hasPrefix("process_") ? "" : "httpdnsd_")\(name) \(cells[1])"
        }
        let written = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map { String($0.dropFirst(7)) }
        #expect(documented == written)
    }
}
