import DNSWire
import TestSupport
import Testing

@testable import Admin

/// The text forms of metrics.
@Suite(.onLoop) struct MetricFamilyTests {
    private typealias Family = MetricFamily<Void>

    @Test @Loop func `a counter's family has the name of its samples in the older form alone`() {
        let family = Family("reloads", .counter, "Reloads.") { _ in 3 }
        for (format, name) in [
            (MetricsFormat.prometheus, "httpdnsd_reloads_total"), (.openMetrics, "httpdnsd_reloads"),
        ] {
            #expect(
                family.text(of: (), in: format)
                    == "# HELP \(name) Reloads.\n# TYPE \(name) counter\nhttpdnsd_reloads_total 3\n")
        }
    }

    @Test @Loop func `the unit, which ends a name, has a line in OpenMetrics alone`() {
        let family = Family("cpu_seconds", .counter, "Time.") { _ in 0.25 }
        let text = family.text(of: (), in: .prometheus)
        #expect(!text.contains("UNIT") && text.hasSuffix("httpdnsd_cpu_seconds_total 0.25\n"))
        #expect(family.text(of: (), in: .openMetrics).contains("# UNIT httpdnsd_cpu_seconds seconds\n"))
    }

    @Test @Loop func `what programs of all kinds have under one name has it here too`() {
        let family = Family("process_open_fds", .gauge, "Open.") { _ in 3 }
        #expect(family.text(of: (), in: .prometheus).hasSuffix("\nprocess_open_fds 3\n"))
    }

    @Test @Loop func `the age of a policy is there only where one is fetched, so that an alert may rest on it`() {
        func text(_ status: StatusReport) -> String {
            StatusReport.metrics.map { $0.text(of: status, in: .prometheus) }.joined()
        }
        var status = StatusReport()
        #expect(!text(status).contains("signed_policy_fetch_age"))
        status.policy.url = "https://policy.example.com/a"
        #expect(text(status).contains("signed_policy_fetch_age_seconds -1\n"))
    }

    @Test @Loop func `quotes, backslashes and line ends of a label are escaped`() {
        let family = Family("provider_up", .gauge, "Up.", by: "provider") { _ in [("a\"b\\c\nd", true)] }
        #expect(
            family.text(of: (), in: .prometheus)
                .hasSuffix("httpdnsd_provider_up{provider=\"a\\\"b\\\\c\\nd\"} 1\n"))
    }

    @Test @Loop func `a family without values is left out`() {
        let family = Family("provider_up", .gauge, "Up.", by: "provider") { _ in [("a", Int?.none)] }
        #expect(family.text(of: (), in: .prometheus).isEmpty)
    }

    @Test @Loop func `the buckets of a histogram are cumulative`() {
        let family = Family("answer_seconds", .histogram, "Time.") { _, samples in
            let histogram = LatencyHistogram()
            for (nanoseconds, count) in [(1_000, 3), (15_000, 2), (3_000_000_000, 1)] as [(Int64, Int)] {
                histogram.add(nanoseconds: nanoseconds, count: count)
            }
            samples.histogram(["source": "cache"], histogram.total)
        }
        let lines = family.text(of: (), in: .prometheus).split(separator: "\n")
        #expect(
            lines.dropFirst(2).prefix(2) + lines.suffix(3) == [
                "httpdnsd_answer_seconds_bucket{source=\"cache\",le=\"1e-05\"} 3",
                "httpdnsd_answer_seconds_bucket{source=\"cache\",le=\"2e-05\"} 5",
                "httpdnsd_answer_seconds_bucket{source=\"cache\",le=\"+Inf\"} 6",
                "httpdnsd_answer_seconds_count{source=\"cache\"} 6",
                "httpdnsd_answer_seconds_sum{source=\"cache\"} 3.000033",
            ])
    }
}
