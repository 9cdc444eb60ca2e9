import Admin
import DNSResolver
import DNSWire
import HTTPDNS
import Scheduling

/// What `query` found, and how it is printed.
struct QueryResult: Sendable {
    let question: Question
    let result: UpstreamResult
    /// The source that answered.
    let source: SourceName
    let took: Duration

    init(question: Question, result: UpstreamResult, source: SourceName, took: Duration) {
        self.question = question
        self.result = result
        self.source = source
        self.took = took
    }

    /// What is answered without any source.
    init(question: Question, _ reply: LocalAnswers.Reply) {
        let result: UpstreamResult =
            switch reply {
            case .answer(let answer), .configured(let answer, _): .answer(answer)
            case .refusal(let code, _): .failure(.responseCode(code))
            }
        self.init(question: question, result: result, source: SourceName(reply.kind), took: .zero)
    }

    /// Whether there are records of the type asked for.
    var isAnswer: Bool {
        guard case .answer(let answer) = result else { return false }
        return !answer.isNegative(for: question.type)
    }

    /// Why the source has not answered; nil where it has, be it without addresses.
    var silence: String? {
        guard case .failure(let failure) = result else { return nil }
        let text = "\(failure)"
        return text.contains("empty, for a reason that the service does not give") ? nil : text
    }

    private var status: String {
        switch result {
        case .answer(let answer): isAnswer || answer.responseCode != .noError ? "\(answer.responseCode)" : "NODATA"
        case .indeterminateEmpty: "empty"
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
        // Where no source answered, the source is only what the failure was counted as.
        let origin = if case .failure = result { "after" } else { "from \(source.text) in" }
        let head = "\(question): \(status), \(origin) \(milliseconds) ms"
        return ([head] + records.map { "\($0.name) \($0.ttl) \($0.type) \($0.dataText)" })
            .joined(separator: "\n")
    }

    /// One JSON object.
    var json: String {
        JSONWriter.object { writer in
            writer.member("name", question.name.description)
            writer.member("type", question.type.description)
            writer.member("status", status)
            writer.member("source", source.word)
            writer.member("provider", source.provider)
            writer.member("milliseconds", milliseconds)
            writer.member("answers", objects: records) { record, writer in
                writer.member("name", record.name.description)
                writer.member("type", record.type.description)
                writer.member("ttl", record.ttl)
                writer.member("data", record.dataText)
            }
        }
    }
}
