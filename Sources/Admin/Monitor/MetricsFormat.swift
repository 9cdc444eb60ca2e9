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
