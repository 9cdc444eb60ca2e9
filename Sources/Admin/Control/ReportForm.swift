import DNSServer
import HTTPDNS

/// The form in which a client takes a report: the first that its `Accept` names, JSON where it names none.
public enum ReportForm: String, Sendable {
    case json = "application/json"
    /// What a command prints.
    case text = "text/plain"
    /// Of a list, an object on each line.
    case objects = "application/x-ndjson"
    /// Lines of cells with tabs between them, for commands that decide by them or put them together.
    case rows = "text/tab-separated-values"

    init(_ request: HTTPServerRequest) { self = Self.named(by: request).first ?? .json }

    var contentType: String { self == .text ? "text/plain; charset=utf-8" : rawValue }

    /// Those that a client names, in its order.
    static func named(by request: HTTPServerRequest) -> [ReportForm] {
        (request.fields[.accept] ?? "").split(separator: ",").compactMap {
            ReportForm(rawValue: String($0.drop { $0 == " " }))
        }
    }

    /// A line of cells. What is in them, a display shows and does not act on, and no cell has a tab or an end of a line.
    public static func row(_ cells: [String]) -> String {
        cells.map { VisibleText($0).description }.joined(separator: "\t")
    }

    /// The cells of a line.
    public static func cells(of line: Substring) -> [String] {
        line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    }
}

/// What a command prints of a report, and how it ends.
public struct CommandOutput {
    /// For standard output: lines without the last end; empty: nothing.
    public let text: String
    /// For standard error, one line each.
    public let remarks: [String]
    /// The exit status of the command; 0: done.
    public let exitStatus: Int32
    /// From where a list continues; nil at its end.
    public let next: String?

    public init(_ text: String, remarks: [String] = [], exitStatus: Int32 = 0, next: String? = nil) {
        (self.text, self.remarks, self.exitStatus, self.next) = (text, remarks, exitStatus, next)
    }

    /// The lines of a list.
    public var lines: [Substring] { text.split(separator: "\n") }

    /// The cells of a reply in rows.
    public var rows: [[String]] { lines.map(ReportForm.cells) }
}

/// What the server says to a command, in each form that a client may take; what is not asked for is not made.
public struct CommandReport {
    fileprivate let json: () -> String
    fileprivate let output: () -> CommandOutput
    fileprivate let rows: (() -> [[String]])?
    fileprivate let objects: (() -> [String])?
    fileprivate let next: String?
    fileprivate let status: HTTPServerResponse.Status

    /// - Parameters:
    ///   - json: one object.
    ///   - output: the same for people.
    ///   - rows: the same for commands that decide by it or put it together; nil: there is none, and they get JSON.
    ///   - objects: a list, an object a line; nil: it is none.
    ///   - isRefused: whether nothing was changed, as the report says.
    public init(
        _ json: @autoclosure @escaping () -> String, _ output: @autoclosure @escaping () -> CommandOutput,
        rows: (() -> [[String]])? = nil, objects: (() -> [String])? = nil, next: String? = nil, isRefused: Bool = false
    ) {
        (self.json, self.output, self.rows, self.objects, self.next) = (json, output, rows, objects, next)
        status = isRefused ? .unprocessable : .ok
    }
}

extension HTTPServerResponse {
    /// A report in the form that the client takes.
    init(_ report: CommandReport, to request: HTTPServerRequest) {
        switch ReportForm(request) {
        case .rows where report.rows != nil:
            self.init(report.status, .rows, (report.rows?() ?? []).map(ReportForm.row))
        case .objects where report.objects != nil: self.init(report.status, .objects, report.objects?() ?? [])
        case let form:
            let output = report.output()
            let remarks = form == .text ? output.remarks.map { VisibleText($0).description } : []
            let text = output.text.isEmpty ? [] : [VisibleText(lines: output.text).description]
            self.init(
                report.status, form == .text ? .text : .json, form == .text ? remarks + text : [report.json()])
            if !remarks.isEmpty { fields.append(("remarks", "\(remarks.count)")) }
            if output.exitStatus != 0 { fields.append(("exit-status", "\(output.exitStatus)")) }
        }
        if let next = report.next { fields.append(("next", next)) }
    }

    /// Why a request fails: a line where the client takes text, else an object.
    static func fault(_ status: Status, _ text: String, to request: HTTPServerRequest) -> HTTPServerResponse {
        ReportForm.named(by: request).contains(.text)
            ? HTTPServerResponse(status, .text, [VisibleText(text).description])
            : HTTPServerResponse(status, .json, [JSONWriter.object { $0.member("error", text) }])
    }

    /// - Parameter lines: without their ends.
    init(
        _ status: Status, _ form: ReportForm, _ lines: [String], fields: [(name: String, value: String)] = []
    ) {
        self.init(
            status, contentType: form.contentType, body: Array(lines.map { $0 + "\n" }.joined().utf8), fields: fields)
    }
}
