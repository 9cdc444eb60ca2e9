import DNSServer
import HTTPDNS

/// The form in which a client takes a report: the first that its `Accept` names, JSON where it names none.
package enum ReportForm: String, Sendable {
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
    package static func row(_ cells: [String]) -> String {
        cells.map { VisibleText($0).description }.joined(separator: "\t")
    }

    /// The cells of a line.
    package static func cells(of line: Substring) -> [String] {
        line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    }
}

/// What a command prints of a report, and how it ends.
package struct CommandOutput {
    /// For standard output: lines without the last end; empty: nothing.
    package let text: String
    /// For standard error, one line each.
    package let remarks: [String]
    /// The exit status of the command; 0: done.
    package let exitStatus: Int32
    /// From where a list continues; nil at its end.
    package let next: String?

    package init(_ text: String, remarks: [String] = [], exitStatus: Int32 = 0, next: String? = nil) {
        (self.text, self.remarks, self.exitStatus, self.next) = (text, remarks, exitStatus, next)
    }

    /// The lines of a list.
    package var lines: [Substring] { text.split(separator: "\n") }

    /// The cells of a reply in rows.
    package var rows: [[String]] { lines.map(ReportForm.cells) }
}

extension HTTPServerResponse {
    /// A report in the form that the client takes.
    ///
    /// - Parameters:
    ///   - object: the report in JSON.
    ///   - output: the same for people.
    ///   - rows: the same for commands that decide by it; nil: there is none, and they get JSON.
    init(
        _ object: @autoclosure () -> String, _ output: CommandOutput, rows: @autoclosure () -> [[String]]? = nil,
        to request: HTTPServerRequest, status: Status = .ok
    ) {
        let form = ReportForm(request)
        switch (form, form == .rows ? rows() : nil) {
        case (.text, _):
            let remarks = output.remarks.map { VisibleText($0).description }
            let text = output.text.isEmpty ? [] : [VisibleText(lines: output.text).description]
            self.init(status, .text, remarks + text)
            if !remarks.isEmpty { fields.append(("remarks", "\(remarks.count)")) }
        case (.rows, let rows?): self.init(status, .rows, rows.map(ReportForm.row))
        default: self.init(status, .json, [object()])
        }
        if output.exitStatus != 0 { fields.append(("exit-status", "\(output.exitStatus)")) }
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
