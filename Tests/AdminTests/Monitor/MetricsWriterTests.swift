import Testing

@testable import Admin

/// The text forms of metrics.
struct MetricsWriterTests {
    @Test func `a counter's family has the name of its samples in the older form alone`() {
        for (format, family) in [
            (MetricsFormat.prometheus, "httpdnsd_reloads_total"), (.openMetrics, "httpdnsd_reloads"),
        ] {
            var writer = MetricsWriter(format)
            writer.family("reloads", .counter, "Reloads.", value: 3)
            #expect(
                writer.text
                    == "# HELP \(family) Reloads.\n# TYPE \(family) counter\nhttpdnsd_reloads_total 3\n")
        }
    }

    @Test func `the unit has a line in OpenMetrics alone`() {
        var texts: [String] = []
        for format in [MetricsFormat.prometheus, .openMetrics] {
            var writer = MetricsWriter(format)
            writer.family("cpu_seconds", .counter, "Time.", unit: "seconds", value: 0.25)
            texts.append(writer.finish())
        }
        #expect(!texts[0].contains("UNIT") && texts[0].hasSuffix("httpdnsd_cpu_seconds_total 0.25\n"))
        #expect(texts[1].contains("# UNIT httpdnsd_cpu_seconds seconds\n"))
    }

    @Test func `what programs of all kinds have under one name has it here too`() {
        var writer = MetricsWriter(.prometheus)
        writer.family("process_open_fds", .gauge, "Open.", value: 3)
        #expect(writer.text.hasSuffix("\nprocess_open_fds 3\n"))
    }

    @Test func `the age of a policy is there only where one is fetched, so that an alert may rest on it`() {
        var status = StatusReport()
        #expect(!Metrics.text(status, TrafficReport(), .prometheus).contains("signed_policy_fetch_age"))
        status.policy.url = "https://policy.example.com/a"
        #expect(Metrics.text(status, TrafficReport(), .prometheus).contains("signed_policy_fetch_age_seconds -1\n"))
    }

    @Test func `quotes, backslashes and line ends of a label are escaped`() {
        var writer = MetricsWriter(.prometheus)
        writer.family("provider_up", .gauge, "Up.") { $0.sample(["provider": "a\"b\\c\nd"], 1) }
        #expect(writer.text.hasSuffix("httpdnsd_provider_up{provider=\"a\\\"b\\\\c\\nd\"} 1\n"))
    }

    @Test func `a family without samples is left out`() {
        var writer = MetricsWriter(.prometheus)
        writer.family("provider_up", .gauge, "Up.") { _ in }
        #expect(writer.text.isEmpty)
    }

    @Test func `the buckets of a histogram are cumulative`() {
        var writer = MetricsWriter(.prometheus)
        writer.family("answer_seconds", .histogram, "Time.") {
            $0.histogram(
                ["source": "cache"], HistogramReport(bounds: [0.001, 0.5], counts: [3, 2, 1], sum: 2.25))
        }
        #expect(
            writer.text.split(separator: "\n").suffix(5) == [
                "httpdnsd_answer_seconds_bucket{source=\"cache\",le=\"0.001\"} 3",
                "httpdnsd_answer_seconds_bucket{source=\"cache\",le=\"0.5\"} 5",
                "httpdnsd_answer_seconds_bucket{source=\"cache\",le=\"+Inf\"} 6",
                "httpdnsd_answer_seconds_count{source=\"cache\"} 6",
                "httpdnsd_answer_seconds_sum{source=\"cache\"} 2.25",
            ])
    }
}
