import Testing

@testable import Admin

/// The text forms of metrics.
struct MetricFamilyTests {
    private let nothing = MetricSource(status: StatusReport(), traffic: TrafficReport())

    @Test func `a counter's family has the name of its samples in the older form alone`() {
        let family = MetricFamily("reloads", .counter, "Reloads.") { _ in 3 }
        for (format, name) in [
            (MetricsFormat.prometheus, "httpdnsd_reloads_total"), (.openMetrics, "httpdnsd_reloads"),
        ] {
            #expect(
                family.text(of: nothing, in: format)
                    == "# HELP \(name) Reloads.\n# TYPE \(name) counter\nhttpdnsd_reloads_total 3\n")
        }
    }

    @Test func `the unit, which ends a name, has a line in OpenMetrics alone`() {
        let family = MetricFamily("cpu_seconds", .counter, "Time.") { _ in 0.25 }
        let text = family.text(of: nothing, in: .prometheus)
        #expect(!text.contains("UNIT") && text.hasSuffix("httpdnsd_cpu_seconds_total 0.25\n"))
        #expect(family.text(of: nothing, in: .openMetrics).contains("# UNIT httpdnsd_cpu_seconds seconds\n"))
    }

    @Test func `what programs of all kinds have under one name has it here too`() {
        let family = MetricFamily("process_open_fds", .gauge, "Open.") { _ in 3 }
        #expect(family.text(of: nothing, in: .prometheus).hasSuffix("\nprocess_open_fds 3\n"))
    }

    @Test func `the age of a policy is there only where one is fetched, so that an alert may rest on it`() {
        var status = StatusReport()
        #expect(!Metrics.text(status, TrafficReport(), .prometheus).contains("signed_policy_fetch_age"))
        status.policy.url = "https://policy.example.com/a"
        #expect(Metrics.text(status, TrafficReport(), .prometheus).contains("signed_policy_fetch_age_seconds -1\n"))
    }

    @Test func `quotes, backslashes and line ends of a label are escaped`() {
        let family = MetricFamily("provider_up", .gauge, "Up.", by: "provider") { _ in [("a\"b\\c\nd", true)] }
        #expect(
            family.text(of: nothing, in: .prometheus)
                .hasSuffix("httpdnsd_provider_up{provider=\"a\\\"b\\\\c\\nd\"} 1\n"))
    }

    @Test func `a family without values is left out`() {
        let family = MetricFamily("provider_up", .gauge, "Up.", by: "provider") { _ in [("a", Int?.none)] }
        #expect(family.text(of: nothing, in: .prometheus).isEmpty)
    }

    @Test func `the buckets of a histogram are cumulative`() {
        let family = MetricFamily("answer_seconds", .histogram, "Time.") { _, samples in
            samples.histogram(
                ["source": "cache"], HistogramReport(bounds: [0.001, 0.5], counts: [3, 2, 1], sum: 2.25))
        }
        #expect(
            family.text(of: nothing, in: .prometheus).split(separator: "\n").suffix(5) == [
                "httpdnsd_answer_seconds_bucket{source=\"cache\",le=\"0.001\"} 3",
                "httpdnsd_answer_seconds_bucket{source=\"cache\",le=\"0.5\"} 5",
                "httpdnsd_answer_seconds_bucket{source=\"cache\",le=\"+Inf\"} 6",
                "httpdnsd_answer_seconds_count{source=\"cache\"} 6",
                "httpdnsd_answer_seconds_sum{source=\"cache\"} 2.25",
            ])
    }
}
