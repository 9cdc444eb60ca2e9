public import HTTPDNS
public import Platform

/// One answered query, or in its place how many are missing, or that there are no more.
public struct QueryReport: JSONRecord {
    /// When it was answered, such as `2026-08-01T12:34:56.789Z`.
    @Member("time") public var time = ""
    /// The client's address.
    @Member("client") public var client = ""
    /// The user and control group of the program, where those of this machine were distinguished; else empty.
    @Member("program", ifAny: true) public var program = ""
    /// `udp` or `tcp`.
    @Member("transport") public var transport = ""
    /// As asked, in master-file form; `-` when it could not be parsed.
    @Member("name") public var name = "-"
    @Member("type") public var type = "-"
    /// The RCODE's name.
    @Member("rcode") public var rcode = ""
    /// How it was routed, such as `protect`.
    @Member("route") public var route = "-"
    /// The word for the source of the answer, such as `cache`.
    @Member("source") public var source = ""
    /// The provider that gave it; empty where none was asked.
    @Member("provider") public var provider = ""
    /// From the query's arrival to its response.
    @Member("microseconds") public var microseconds = 0
    /// How many queries are missing here, because they came faster than they were read; 0 for a query.
    @Member("dropped", ifAny: true) public var dropped = 0
    /// Why the server ends the list here; empty: it does not.
    @Member("ended", ifAny: true) public var ended = ""

    public init() {}

    init(dropped: Int) { self.dropped = dropped }

    init(ended: String) { self.ended = ended }

    public func writeMembers(to writer: inout JSONWriter) {
        guard dropped == 0 else { return writer.member("dropped", dropped) }
        guard ended.isEmpty else { return writer.member("ended", ended) }
        writeOwnMembers(to: &writer)
    }

    /// How long it took.
    public var took: Milliseconds { Milliseconds(.microseconds(microseconds)) }

    /// Without the time: as in the log of queries.
    public var summary: String {
        "\(client)\(program.isEmpty ? "" : " (\(program))") \(transport) \(name) \(type) \(rcode) \(route) \(took) ms \(source)"
            + (provider.isEmpty ? "" : " \(provider)")
    }

    /// A line for people.
    var text: String {
        if dropped > 0 { return "(\(dropped) queries are missing: they came faster than they were read)" }
        return ended.isEmpty ? "\(time) \(summary)" : "\(Self.endMarks[0].before)\(ended)\(Self.endMarks[0].after)"
    }

    /// A line with its end.
    func line(_ form: ReportForm) -> String { (form == .text ? VisibleText(text).description : json) + "\n" }

    /// What stands before and after the reason in the line that ends a list, for people and in JSON.
    private static let endMarks: [(before: String, after: String)] = [
        (before: "(the server ends this list: ", after: ")"), ("{\"ended\":\"", "\"}"),
    ]

    /// Why the server ends the list with this line; nil: it does not.
    public static func reasonOfEnd(in line: String) -> String? {
        endMarks.first { line.hasPrefix($0.before) && line.hasSuffix($0.after) }
            .map { String(line.dropFirst($0.before.count).dropLast($0.after.count)) }
    }
}

/// How one question was answered, step by step.
public struct TraceReport: JSONRecord {
    @Member("name") public var name = ""
    @Member("type") public var type = ""
    /// The RCODE's name.
    @Member("status") public var status = ""
    /// The word for the source of the answer.
    @Member("source") public var source = ""
    @Member("steps") public var steps: [Step] = []

    public init() {}

    /// Whether the client got an answer.
    public var isAnswer: Bool { source != "none" }

    /// A line for the question, and one for each step.
    public var text: String {
        let rows = steps.map { step in
            let time = "\(step.milliseconds) ms"
            return [String(repeating: " ", count: max(0, 8 - time.count)) + time, step.kind, step.text]
        }
        return "\(name) \(type)" + (rows.isEmpty ? "" : "\n" + rows.tableText)
    }

    /// One thing that happened.
    public struct Step: JSONRecord {
        /// Since the question.
        @Member("milliseconds") public var milliseconds = 0
        /// Such as `ask` or `reply`.
        @Member("kind") public var kind = ""
        @Member("text") public var text = ""

        public init(milliseconds: Int, kind: String, text: String) {
            (self.milliseconds, self.kind, self.text) = (milliseconds, kind, text)
        }
    }
}
