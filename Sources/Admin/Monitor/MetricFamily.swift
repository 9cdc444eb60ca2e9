public import DNSWire

/// The kind of a family, by the word of its TYPE line.
public enum MetricKind: String, Sendable {
    case counter, gauge, histogram
}

/// A family of metrics: its name, its kind, one sentence of help, and what gives its values.
public struct MetricFamily<Source>: Sendable {
    /// The label names and values of a sample, in order.
    public typealias Labels = KeyValuePairs<String, String>

    public let name: String
    public let kind: MetricKind
    private let help: String
    private let write: @Loop @Sendable (Source, inout Samples) -> Void

    /// - Parameter name: without prefix and without the `_total` of a counter. One that begins with `process_` is what programs
    ///   of all kinds have under this name, and gets no prefix. One that ends in a base unit of Prometheus has this unit.
    public init(
        _ name: String, _ kind: MetricKind, _ help: String,
        write: @escaping @Loop @Sendable (Source, inout Samples) -> Void
    ) {
        self.name = name.hasPrefix("process_") ? name : "httpdnsd_\(name)"
        (self.kind, self.help, self.write) = (kind, help, write)
    }

    /// A family with one sample; without a value it is left out.
    public init(
        _ name: String, _ kind: MetricKind, _ help: String,
        _ value: @escaping @Loop @Sendable (Source) -> some MetricValue
    ) {
        self.init(name, kind, help) { source, samples in samples.sample([:], value(source)) }
    }

    /// A family with a sample for each value of a label; those without a value are left out.
    public init<Value: MetricValue>(
        _ name: String, _ kind: MetricKind, _ help: String, by label: String,
        _ values: @escaping @Loop @Sendable (Source) -> [(String, Value)]?
    ) {
        self.init(name, kind, help) { source, samples in
            for (name, value) in values(source) ?? [] { samples.sample([label: name], value) }
        }
    }

    /// The lines of the family; none without samples.
    @Loop
    public func text(of source: Source, in format: MetricsFormat) -> String {
        var samples = Samples(name: kind == .counter ? name + "_total" : name)
        write(source, &samples)
        guard !samples.text.isEmpty else { return "" }
        // In the older form a counter's family has the name of its samples.
        let family = format == .prometheus ? samples.name : name
        let unit = ["seconds", "bytes"].first { format == .openMetrics && name.hasSuffix("_" + $0) }
        return "# HELP \(family) \(help)\n# TYPE \(family) \(kind.rawValue)\n"
            + (unit.map { "# UNIT \(family) \($0)\n" } ?? "") + samples.text
    }

    /// The samples of one family.
    public struct Samples {
        fileprivate let name: String
        fileprivate var text = ""

        public mutating func sample(_ labels: Labels, _ value: some MetricValue) {
            if let number = value.number { write(name, labels.map { ($0.key, $0.value) }, number) }
        }

        /// The buckets, count and sum of one histogram.
        public mutating func histogram(_ labels: Labels, _ histogram: LatencyHistogram.Total) {
            let labels = labels.map { ($0.key, $0.value) }
            var count = 0
            let bounds = LatencyHistogram.bounds.map { "\($0 / .seconds(1))" } + ["+Inf"]
            for (bound, bucket) in zip(bounds, histogram.counts) {
                count += bucket
                write(name + "_bucket", labels + [("le", bound)], Double(count))
            }
            write(name + "_count", labels, Double(count))
            write(name + "_sum", labels, histogram.sum / .seconds(1))
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

/// What a sample can be; true is 1.
public protocol MetricValue {
    /// Nil: there is none.
    var number: Double? { get }
}

extension Double: MetricValue {
    public var number: Double? { self }
}

extension Int: MetricValue {
    public var number: Double? { Double(self) }
}

extension Bool: MetricValue {
    public var number: Double? { self ? 1 : 0 }
}

extension Optional: MetricValue where Wrapped: MetricValue {
    public var number: Double? { flatMap(\.number) }
}

/// The text forms in which Prometheus takes metrics.
public enum MetricsFormat: Sendable {
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
