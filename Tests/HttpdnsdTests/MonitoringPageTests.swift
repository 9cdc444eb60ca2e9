import Admin
import Foundation
import Testing

@testable import httpdnsd

/// Documentation/Monitoring.md against the code.
struct MonitoringPageTests {
    @Test func `every metric has its line in the page, with its kind, and no other has`() throws {
        let page = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../Documentation/Monitoring.md"), encoding: .utf8)
        let rows = page.split(separator: "\n").filter {
            $0.hasPrefix("| `") && !$0.hasPrefix("| `/") && $0.split(separator: "|").count == 3
        }
        let documented = rows.map { row in
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let name = cells[0].split(separator: "`")[0].split(separator: "{")[0]
            return "\(name.hasPrefix("process_") ? "" : "httpdnsd_")\(name) \(cells[1])"
        }
        func text(_ name: String, _ kind: MetricKind) -> String {
            "\(name)\(kind == .counter ? "_total" : "") \(kind.rawValue)"
        }
        let metrics =
            StatusReport.metrics.map { text($0.name, $0.kind) } + ServiceMetrics.all.map { text($0.name, $0.kind) }
        #expect(documented.sorted() == metrics.sorted())
    }
}
