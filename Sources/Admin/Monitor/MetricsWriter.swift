/// Writes metric families, one after the other, each with all its samples.
struct MetricsWriter {
    /// The kind of a family, by the word of its TYPE line.
    enum Kind: String {
        case counter, gauge, histogram
    }

    /// The label names and values of a sample, in order.
    typealias Labels = KeyValuePairs<String, String>

    private let format: MetricsFormat
    private(set) var text = ""

    init(_ format: MetricsFormat) { self.format = format }

    /// Writes a family with one sample.
    mutating func family(_ name: String, _ kind: Kind, _ help: String, unit: String? = nil, value: Double) {
        family(name, kind, help, unit: unit) { $0.sample([:], value) }
    }

    /// Writes a family; one without samples is left out.
    ///
    /// - Parameters:
    ///   - name: without prefix and without the `_total` of a counter; ends in `unit`. One that begins with `process_` is what
    ///     programs of all kinds have under this name, and gets no prefix.
    ///   - help: one sentence.
    ///   - unit: a base unit of Prometheus, such as `seconds` or `bytes`.
    mutating func family(
        _ name: String, _ kind: Kind, _ help: String, unit: String? = nil, _ write: (inout Samples) -> Void
    ) {
        let full = name.hasPrefix("process_") ? name : "httpdnsd_\(name)"
        var samples = Samples(name: kind == .counter ? full + "_total" : full)
        write(&samples)
        guard !samples.text.isEmpty else { return }
        // In the older form a counter's family has the name of its samples.
        let family = format == .prometheus && kind == .counter ? full + "_total" : full
        text += "# HELP \(family) \(help)\n# TYPE \(family) \(kind.rawValue)\n"
        if let unit, format == .openMetrics { text += "# UNIT \(family) \(unit)\n" }
        text += samples.text
    }

    /// Ends the text.
    mutating func finish() -> String {
        if format == .openMetrics { text += "# EOF\n" }
        return text
    }

    /// The samples of one family.
    struct Samples {
        fileprivate let name: String
        fileprivate var text = ""

        mutating func sample(_ labels: Labels, _ value: Double) {
            write(name, labels.map { ($0.key, $0.value) }, value)
        }

        mutating func sample(_ labels: Labels, _ value: Int) { sample(labels, Double(value)) }

        /// The buckets, count and sum of one histogram.
        mutating func histogram(_ labels: Labels, _ histogram: HistogramReport) {
            let labels = labels.map { ($0.key, $0.value) }
            var count = 0
            for (bound, bucket) in zip(histogram.bounds.map { "\($0)" } + ["+Inf"], histogram.counts) {
                count += bucket
                write(name + "_bucket", labels + [("le", bound)], Double(count))
            }
            write(name + "_count", labels, Double(count))
            write(name + "_sum", labels, histogram.sum)
        }

        private mutating func write(_ name: String, _ labels: [(String, String)], _ value: Double) {
            text += name
            if !labels.isEmpty {
                text += "{" + labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",") + "}"
            }
            text += " \(Self.number(value))\n"
        }

        /// Without a fraction where there is none.
        private static func number(_ value: Double) -> String {
            Int64(exactly: value).map { "\($0)" } ?? "\(value)"
        }

        private static func escaped(_ value: String) -> String {
            value.reduce(into: "") { text, character in
                switch character {
                case "\\": text += "\\\\"
                case "\"": text += "\\\""
                case "\n": text += "\\n"
                default: text.append(character)
                }
            }
        }
    }
}

/// The text forms in which Prometheus takes metrics.
enum MetricsFormat: Sendable {
    /// Prometheus text exposition, version 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats).
    case prometheus
    /// OpenMetrics 1.0.0 (RFC draft-richih-opsawg-openmetrics-00), for clients that ask for it.
    case openMetrics

    /// The form that a client's `Accept` field asks for; without one `prometheus`.
    init(accept: String?) {
        let ranges = (accept ?? "").split(separator: ",").map { $0.drop { $0 == " " } }
        self = ranges.contains { $0.hasPrefix("application/openmetrics-text") } ? .openMetrics : .prometheus
    }

    var contentType: String {
        switch self {
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }
}
