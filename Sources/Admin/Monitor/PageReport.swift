import HTTPDNS
import Scheduling

/// What the monitoring page shows, as one JSON object.
@Loop
struct PageReport {
    let status: StatusReport
    let traffic: TrafficReport
    let verdict: Verdict
    let history: TrafficHistory
    /// The steps that the page does not have yet.
    let steps: (hour: [[UInt32]], day: [[UInt32]])
    /// The names that are asked for most; nil where names may not be shown.
    let names: [TrafficReport.Count]?

    var json: String {
        let current = history.current
        return JSONWriter.object { writer in
            writer.member("verdict", object: { Self.write(verdict, to: &$0) })
            writer.member("status", object: { status.write(to: &$0) })
            let bounds = traffic.answers.first?.histogram.bounds ?? []
            writer.member("bounds_us", numbers: bounds.map { Int(($0 * 1_000_000).rounded()) })
            writer.member("answers", objects: traffic.answers, Self.write)
            writer.member("hour", object: { write(history.hour, steps.hour, current.hour, to: &$0) })
            writer.member("day", object: { write(history.day, steps.day, current.day, to: &$0) })
            writer.member("providers", objects: traffic.providers, Self.write)
            if let names {
                writer.member("names", objects: names) { name, writer in
                    writer.member("label", name.label)
                    writer.member("count", name.count)
                }
            }
        }
    }

    private static func write(_ verdict: Verdict, to writer: inout JSONWriter) {
        writer.member("level", verdict.level.rawValue)
        writer.member("queries", verdict.traffic.queries)
        writer.member("failed", verdict.traffic.failed)
        writer.member("stale", verdict.traffic.stale)
        writer.member("causes", objects: verdict.causes) { cause, writer in
            writer.member("level", cause.level.rawValue)
            cause.finding.write(to: &writer)
        }
    }

    /// The numbers of all steps one after the other, as many for each as `current` has.
    private func write(
        _ chart: TrafficHistory.Chart, _ steps: [[UInt32]], _ current: [UInt32], to writer: inout JSONWriter
    ) {
        writer.member("step_seconds", chart.length.components.seconds)
        writer.member("elapsed_seconds", chart.elapsed(at: history.now).components.seconds)
        writer.member("steps", numbers: steps.joined())
        writer.member("current", numbers: current)
    }

    private static func write(_ latencies: TrafficReport.Latencies, to writer: inout JSONWriter) {
        writer.member("label", latencies.label)
        writer.member("counts", numbers: latencies.histogram.counts)
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ key: String, numbers: some Sequence<some BinaryInteger>) {
        member(key, array: { writer in for number in numbers { writer.integer(number) } })
    }
}
