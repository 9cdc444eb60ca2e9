import DNSWire
import Scheduling

/// The monitoring interface: reads alone. Documented in Documentation/Monitoring.md.
@Loop
struct MonitorAPI: RequestHandler {
    let target: any MonitorTarget
    /// This machine's own name, by which it may be asked.
    let hostName: String
    /// Whether names are looked up and shown: only where no other machine can ask.
    let looksUp: Bool
    /// What was answered before a page is opened.
    private let history: TrafficHistory

    init(target: any MonitorTarget, hostName: String, looksUp: Bool, clock: any LoopClock) {
        (self.target, self.hostName, self.looksUp) = (target, hostName, looksUp)
        history = TrafficHistory(clock: clock) { [weak target] in target?.counters ?? .init() }
    }

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
        case "/events": return events
        case "/trace": return await trace(request)
        case "/metrics":
            let format = MetricsFormat(accept: request.accept)
            return ControlResponse(
                status: 200, body: Metrics.text(target.status, target.traffic, format), contentType: format.contentType)
        case "/healthz": return .text(200, "ok\n")
        case "/readyz":
            let reason = target.unreadiness
            return .text(reason == nil ? 200 : 503, (reason ?? "ready") + "\n")
        default: return Self.files[request.path] ?? .text(404, "there is /, /metrics, /healthz and /readyz\n")
        }
    }

    /// The files of the page (`Sources/Admin/Page`), by their path.
    private static let files = [
        "/": file(PackageResources.page_html, "text/html"), "/page.css": file(PackageResources.page_css, "text/css"),
        "/page.js": file(PackageResources.page_js, "text/javascript"),
        "/words.js": file(PackageResources.words_js, "text/javascript"),
        "/qr.js": file(PackageResources.qr_js, "text/javascript"),
    ]

    /// Nothing runs but these files, and nothing is asked but this server. Sent without indents, comments and empty lines.
    private static func file(_ bytes: [UInt8], _ type: String) -> ControlResponse {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { $0.drop { $0 == " " } }
        var response = ControlResponse(
            status: 200, body: lines.filter { !$0.hasPrefix("//") }.joined(separator: "\n") + "\n",
            contentType: "\(type); charset=utf-8")
        response.fields = [
            .init(
                name: "Content-Security-Policy",
                value: "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
                    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
            .init(name: "X-Content-Type-Options", value: "nosniff"),
            .init(name: "Referrer-Policy", value: "no-referrer"),
            .init(name: "Cache-Control", value: "no-store"),
        ]
        return response
    }

    /// The numbers of the page, again and again.
    private var events: ControlResponse {
        var response = ControlResponse(status: 200, body: "", contentType: "text/event-stream")
        response.fields = [.init(name: "Cache-Control", value: "no-store")]
        // Server-sent events (HTML Living Standard, section 9.2).
        response.parts = ControlParts(interval: .seconds(2), isPatient: false) {
            [target, looksUp, history, reader = HistoryReader(history)] in
            let status = target.status
            let report = PageReport(
                status: status, traffic: target.traffic,
                verdict: Verdict(
                    unreadiness: target.unreadiness, status: status, findings: target.findings(in: status),
                    traffic: history.recent), history: history, steps: reader.take(),
                names: looksUp ? target.hottestNames : nil)
            return "data: \(report.json)\n\n"
        }
        return response
    }

    /// How a name is answered: asks sources as a client of this machine does.
    private func trace(_ request: ControlRequest) async -> ControlResponse {
        guard looksUp else {
            return .fault(403, "names are looked up where control.http is a loopback address: httpdnsd query --trace")
        }
        // A page of another site may not make this server ask, even though it cannot read the response.
        guard ["same-origin", "none", nil].contains(request.site) else { return .fault(403, "another site asks") }
        guard let text = request.parameters?["name"], let name = try? Name(text).lowercased else {
            return .fault(400, "this is not a name")
        }
        guard let type = RecordType(request.parameters?["type"] ?? "A"), !type.isMeta else {
            return .fault(400, "this is not a type that can be looked up")
        }
        return ControlResponse(await target.trace(Question(name: name, type: type)))
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
