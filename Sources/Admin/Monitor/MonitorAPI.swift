public import DNSServer
public import DNSWire
import HTTPDNS
public import Platform

/// The running server, as read by the monitoring interface.
@Loop
public protocol MonitorTarget: AnyObject, Sendable {
    /// The names by which people may ask for the page.
    var hosts: HTTPHosts { get }
    var status: StatusReport { get }
    /// What the charts show, since the start.
    var traffic: TrafficReport { get }
    /// The metrics whose values `status` does not have.
    func metrics(in format: MetricsFormat) -> String
    /// What is wrong by the server's own report.
    func findings(in status: StatusReport) -> [Finding]
    /// The names that are asked for most; nil where names may not be shown.
    var hottestNames: [NameCount]? { get }
    /// Why no question can be answered from any source; nil when one may be.
    var unreadiness: String? { get }
    /// Answers a question as that of a client of this machine, and tells how.
    func trace(_ question: Question) async -> TraceReport
}

/// The monitoring interface: reads alone. Documented in Documentation/Monitoring.md.
@Loop
public struct MonitorAPI: HTTPService {
    private let target: any MonitorTarget
    /// Whether names are looked up and shown: only where no other machine can ask.
    private let looksUp: Bool
    /// What was answered before a page is opened.
    private let history: TrafficHistory

    public init(target: any MonitorTarget, looksUp: Bool, clock: any LoopClock) {
        (self.target, self.looksUp) = (target, looksUp)
        history = TrafficHistory(clock: clock) { [weak target] in target?.traffic ?? TrafficReport() }
    }

    public func respond(
        to request: HTTPServerRequest, from client: SocketAddress, reply: @escaping @Loop (HTTPServerResponse) -> Void
    ) -> Bool {
        Loop.spawn { reply(await response(to: request)) }
        return true
    }

    /// Answers the request; every fault of it becomes a response.
    public func response(to request: HTTPServerRequest) async -> HTTPServerResponse {
        guard [.get, .head].contains(request.method) else {
            return HTTPServerResponse(
                .methodNotAllowed, .text, ["this interface is read-only: GET or HEAD"], fields: [("allow", "GET, HEAD")]
            )
        }
        switch String(decoding: request.path, as: UTF8.self) {
        case "/metrics":
            let format = MetricsFormat(accept: request.fields[.accept])
            let status = target.status
            let own = StatusReport.metrics.map { $0.text(of: status, in: format) }.joined()
            let text = own + target.metrics(in: format)
            return HTTPServerResponse(
                .ok, contentType: format.contentType,
                body: Array((text + (format == .openMetrics ? "# EOF\n" : "")).utf8))
        case "/healthz": return HTTPServerResponse(.ok, .text, ["ok"])
        case "/readyz":
            let reason = target.unreadiness
            return HTTPServerResponse(reason == nil ? .ok : .unavailable, .text, [reason ?? "ready"])
        case let path: return await people(request, path)
        }
    }

    /// The files of the page (`Sources/Admin/Page`), by their path.
    private static let files = [
        "/": file(PackageResources.page_html, "text/html; charset=utf-8"),
        "/page.css": file(PackageResources.page_css, "text/css; charset=utf-8"),
        "/page.js": file(PackageResources.page_js, "text/javascript; charset=utf-8"),
        "/words.js": file(PackageResources.words_js, "text/javascript; charset=utf-8"),
        "/qr.js": file(PackageResources.qr_js, "text/javascript; charset=utf-8"),
    ]

    /// Nothing runs but these files, and nothing is asked but this server. Sent without indents, comments and empty lines.
    private static func file(_ bytes: [UInt8], _ type: String) -> HTTPServerResponse {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { $0.drop { $0 == " " } }
        let body = lines.filter { !$0.hasPrefix("//") }.joined(separator: "\n") + "\n"
        return HTTPServerResponse(
            .ok, contentType: type, body: Array(body.utf8),
            fields: [
                (
                    "content-security-policy",
                    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
                        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
                ), ("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"),
            ])
    }

    /// What is for the page, and shows names: for no page of some other site, nor one whose name was made to point here.
    private func people(_ request: HTTPServerRequest, _ path: String) async -> HTTPServerResponse {
        let file = Self.files[path]
        guard file != nil || path == "/events" || path == "/trace" else {
            return HTTPServerResponse(.notFound, .text, ["there is /, /metrics, /healthz and /readyz"])
        }
        guard target.hosts.allow(request.fields[.host]) else {
            return HTTPServerResponse(
                .misdirected, .text, ["ask by an address, localhost, this machine's name or one of control.http_names"])
        }
        // A link may lead to the page.
        if path == "/", let file { return file }
        guard !request.isOfAnotherSite else { return .fault(.forbidden, "another site asks", to: request) }
        if let file { return file }
        return path == "/events" ? events : await trace(request)
    }

    /// The numbers of the page, again and again.
    private var events: HTTPServerResponse {
        var response = HTTPServerResponse(.ok, contentType: "text/event-stream")
        // Server-sent events (HTML Living Standard, section 9.2).
        var seen = (hours: 0, days: 0)
        response.feed = HTTPServerFeed(every: .seconds(2), isPatient: false) {
            "data: \(page(history.steps(after: &seen)))\n\n"
        }
        return response
    }

    /// How a name is answered: asks sources as a client of this machine does.
    private func trace(_ request: HTTPServerRequest) async -> HTTPServerResponse {
        guard looksUp else {
            return .fault(
                .forbidden, "names are looked up where control.http is a loopback address: httpdnsd query --trace",
                to: request)
        }
        guard let text = request.parameters?["name"], let name = try? Name(typed: text).lowercased else {
            return .fault(.badRequest, "this is not a name", to: request)
        }
        guard let type = RecordType(request.parameters?["type"] ?? "A"), !type.isMeta else {
            return .fault(.badRequest, "this is not a type that can be looked up", to: request)
        }
        return HTTPServerResponse(.ok, .json, [await target.trace(Question(name: name, type: type)).json])
    }

    // MARK: The page

    /// What the page shows, as one JSON object.
    ///
    /// - Parameter steps: those that the page does not have yet.
    private func page(_ steps: (hour: [[UInt32]], day: [[UInt32]])) -> String {
        let (status, traffic, current) = (target.status, target.traffic, history.current)
        let verdict = Verdict(
            unreadiness: target.unreadiness, status: status, findings: target.findings(in: status),
            traffic: history.recent)
        return JSONWriter.object { writer in
            writer.member("verdict", object: { Self.write(verdict, to: &$0) })
            writer.member("status", status)
            writer.member("bounds_us", LatencyHistogram.bounds.map { $0.nanoseconds / 1_000 })
            writer.member("answers", objects: traffic.answers, Self.write)
            writer.member("hour", object: { write(history.hour, steps.hour, current.hour, to: &$0) })
            writer.member("day", object: { write(history.day, steps.day, current.day, to: &$0) })
            writer.member("providers", objects: traffic.providers, Self.write)
            if looksUp, let names = target.hottestNames {
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
            cause.finding.writeMembers(to: &writer)
        }
    }

    /// The numbers of all steps one after the other, as many for each as `current` has.
    private func write(
        _ chart: TrafficHistory.Chart, _ steps: [[UInt32]], _ current: [UInt32], to writer: inout JSONWriter
    ) {
        writer.member("step_seconds", chart.length.components.seconds)
        writer.member("elapsed_seconds", chart.elapsed(at: history.now).components.seconds)
        writer.member("steps", Array(steps.joined()))
        writer.member("current", current)
    }

    private static func write(_ latencies: TrafficReport.Latencies, to writer: inout JSONWriter) {
        writer.member("label", latencies.label)
        writer.member("counts", latencies.histogram.counts)
    }
}
