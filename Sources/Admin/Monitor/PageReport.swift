import HTTPDNS

/// What the monitoring page shows, as one JSON object.
struct PageReport {
    let status: StatusReport
    let traffic: TrafficReport
    /// Why no question can be answered from any source; nil when one may be.
    let unreadiness: String?
    /// The steps that the page does not have yet, and the one that has not ended.
    let steps: [TrafficHistory.Step]
    let current: TrafficHistory.Step
    /// The names that are asked for most; nil where names may not be shown.
    let names: [TrafficReport.Count]?

    var json: String {
        JSONWriter.object { writer in
            writer.member("unready", unreadiness ?? "")
            writer.member("status", object: { status.write(to: &$0) })
            let bounds = traffic.answers.first?.histogram.bounds ?? []
            writer.member(
                "bounds_us",
                array: { writer in
                    for bound in bounds { writer.integer(Int((bound * 1_000_000).rounded())) }
                })
            writer.member("answers", array: { Self.write(traffic.answers, to: &$0) })
            writer.member("step_seconds", TrafficHistory.length.components.seconds)
            writer.member(
                "steps",
                array: { writer in
                    for step in steps { writer.object { Self.write(step, to: &$0) } }
                })
            writer.member("current", object: { Self.write(current, to: &$0) })
            writer.member("providers", array: { Self.write(traffic.providers, to: &$0) })
            writer.member("refusals", array: { Self.write(traffic.refusals, to: &$0) })
            if let names { writer.member("names", array: { Self.write(names, to: &$0) }) }
        }
    }

    private static func write(_ counts: [TrafficReport.Count], to writer: inout JSONWriter) {
        for each in counts {
            writer.object {
                $0.member("label", each.label)
                $0.member("count", each.count)
            }
        }
    }

    private static func write(_ step: TrafficHistory.Step, to writer: inout JSONWriter) {
        writer.member("answers", array: { writer in for count in step.answers { writer.integer(count) } })
        writer.member("latencies", array: { writer in for count in step.latencies { writer.integer(count) } })
    }

    private static func write(_ latencies: [TrafficReport.Latencies], to writer: inout JSONWriter) {
        for each in latencies {
            writer.object { writer in
                writer.member("label", each.label)
                writer.member(
                    "counts", array: { writer in for count in each.histogram.counts { writer.integer(count) } })
            }
        }
    }
}
