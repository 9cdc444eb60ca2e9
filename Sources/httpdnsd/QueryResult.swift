import DNSResolver
import DNSWire
import Scheduling

/// What `query` found, and how it is printed.
struct QueryResult: Sendable {
    let question: Question
    let result: UpstreamResult
    /// Who answered.
    let source: String
    let took: Duration

    init(question: Question, result: UpstreamResult, source: String, took: Duration) {
        self.question = question
        self.result = result
        self.source = source
        self.took = took
    }

    /// What is answered without any source.
    init(question: Question, _ reply: LocalAnswers.Reply) {
        let result: UpstreamResult =
            switch reply {
            case .answer(let answer): .answer(answer)
            case .refusal(let code, _): .failure(.responseCode(code))
            }
        self.init(question: question, result: result, source: "this server itself", took: .zero)
    }

    /// Whether there are records of the type asked for.
    var isAnswer: Bool {
        guard case .answer(let answer) = result else { return false }
        return !answer.isNegative(for: question.type)
    }

    private var status: String {
        switch result {
        case .answer(let answer): isAnswer || answer.responseCode != .noError ? "\(answer.responseCode)" : "NODATA"
        case .unknownEmpty: "empty, for a reason the service does not tell"
        case .failure(let failure): "no answer: \(failure)"
        }
    }

    private var records: [Record] {
        guard case .answer(let answer) = result else { return [] }
        return answer.answers
    }

    private var milliseconds: Int64 { took.nanoseconds / 1_000_000 }

    /// Lines for people: the status, then a line for each record.
    var text: String {
        let head = "\(question): \(status), from \(source) in \(milliseconds) ms"
        return ([head] + records.map { "\($0.name) \($0.ttl) \($0.type) \(Self.data(of: $0))" })
            .joined(separator: "\n")
    }

    /// One JSON object.
    var json: String {
        let answers = records.map {
            "{\"name\":\(Self.quoted($0.name.description)),\"type\":\(Self.quoted($0.type.description)),"
                + "\"ttl\":\($0.ttl),\"data\":\(Self.quoted(Self.data(of: $0)))}"
        }
        return "{\"name\":\(Self.quoted(question.name.description)),\"type\":\(Self.quoted(question.type.description)),"
            + "\"status\":\(Self.quoted(status)),\"source\":\(Self.quoted(source)),\"milliseconds\":\(milliseconds),"
            + "\"answers\":[\(answers.joined(separator: ","))]}"
    }

    /// An address or a name as text; everything else in the form for unknown types (RFC 3597 section 5).
    private static func data(of record: Record) -> String {
        if let address = record.address { return address.description }
        if [.cname, .ns, .ptr].contains(record.type), let name = try? Name(wire: record.rdata) {
            return name.description
        }
        let digits = record.rdata.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return "\\# \(record.rdata.count) \(digits)"
    }

    /// A JSON string; names and texts here are ASCII or UTF-8.
    private static func quoted(_ text: String) -> String {
        let escaped = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case _ where scalar.value < 0x20:
                "\\u" + String(repeating: "0", count: 4 - String(scalar.value, radix: 16).count)
                    + String(scalar.value, radix: 16)
            default: String(scalar)
            }
        }
        return "\"\(escaped.joined())\""
    }
}
