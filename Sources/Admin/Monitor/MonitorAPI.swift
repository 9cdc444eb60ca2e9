import DNSWire
import Scheduling

/// The monitoring interface: reads alone. Documented in Documentation/Monitoring.md.
@Loop
struct MonitorAPI: RequestHandler {
    let target: any MonitorTarget
    /// This machine's own name, by which it may be asked.
    let hostName: String

    func respond(to request: ControlRequest) async -> ControlResponse {
        guard isAllowed(request.host) else {
            // A page of some site whose name was made to point here (DNS rebinding) must not read.
            return .text(421, "ask by an IP address, localhost or the name of this machine\n")
        }
        guard ["GET", "HEAD"].contains(request.method) else {
            return .text(
                405, "this interface is read-only: GET or HEAD\n", fields: [.init(name: "Allow", value: "GET, HEAD")])
        }
        switch request.path {
        case "/metrics":
            let format = MetricsFormat(accept: request.accept)
            return ControlResponse(
                status: 200, body: Metrics.text(target.status, target.traffic, format), contentType: format.contentType)
        case "/healthz": return .text(200, "ok\n")
        case "/readyz":
            let reason = target.unreadiness
            return .text(reason == nil ? 200 : 503, (reason ?? "ready") + "\n")
        default: return .text(404, "there is /metrics, /healthz and /readyz\n")
        }
    }

    /// Whether the `Host` field names this machine as no site on the Internet can: by an address, as `localhost`, or by its
    /// own name.
    private func isAllowed(_ host: String?) -> Bool {
        // HTTP/1.0; browsers send it always.
        guard let host else { return true }
        let name = Self.withoutPort(host.lowercased())
        return IPAddress(name) != nil || name == "localhost" || (!name.isEmpty && name == hostName.lowercased())
    }

    private nonisolated static func withoutPort(_ host: String) -> String {
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") { return String(host[..<end].dropFirst()) }
        return String(host.prefix { $0 != ":" })
    }
}
