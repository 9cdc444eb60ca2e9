import Admin
import Configuration
import DNSCache
import DNSResolver
import DNSWire
import HTTPDNS
import Logging
import Platform
import Scheduling

/// The questions for one name, put to the sources once.
@Loop
final class SingleLookup {
    private let questions: [Question]
    /// The only source that is asked: `httpdns`, `localdns` or the name of a provider; nil: all.
    private let via: String?
    private let loop: EventLoop
    private var results: [RecordType: QueryResult] = [:]

    nonisolated init(_ questions: [Question], via: String?, loop: EventLoop) {
        self.questions = questions
        self.via = via
        self.loop = loop
    }

    /// What was found, in the order of the questions.
    var found: [QueryResult] { questions.compactMap { results[$0.type] } }

    func run(_ settings: Configuration) async {
        let composition = Composition(settings, loop: loop, events: .silent(on: loop))
        let policy = Composition.routes(settings, Translation(settings.answers.dns64, found: .none))
        var asked: [Question] = []
        for question in questions {
            if via == nil, let reply = composition.localAnswers().reply(to: question, policy: policy) {
                results[question.type] = QueryResult(question: question, reply)
            } else {
                asked.append(question)
            }
        }
        // Both families in one flight, any other type in one of its own, as of clients.
        let flights = [asked.filter(\.type.isAddress)] + asked.filter { !$0.type.isAddress }.map { [$0] }
        for questions in flights where !questions.isEmpty { await ask(questions, composition, policy) }
    }

    /// Asks for all of them in one flight.
    private func ask(_ questions: [Question], _ composition: Composition, _ policy: RoutePolicy) async {
        let name = questions[0].name.lowercased
        var (mode, route) = (policy.mode, policy.route(for: name, questions[0].type))
        var provider: String?
        switch via {
        case nil: break
        case "localdns": route = .bypass
        case "httpdns": (mode, route) = (.httpdnsOnly, .protect(explicit: true))
        case let name?: (mode, route, provider) = (.httpdnsOnly, .protect(explicit: true), name)
        }
        let sources = ResolverPolicy(
            localAnswers: composition.localAnswers(), routes: policy,
            lines: composition.lines(mode: mode, onlyProvider: provider), sources: composition.sources,
            lastResort: via == nil ? composition.lastResort() : Presets())
        let race = SingleRace(sources, clock: loop)
        let began = loop.now
        await withCheckedContinuation { continuation in
            var left = questions.count
            for question in questions {
                race.ask(name, question.type, by: route) { [self] answer, source, reason in
                    let took = loop.now - began
                    let lastResort =
                        answer == nil && via == nil
                        ? composition.lastResort().answer(to: question, ttl: Reply.staleTTL) : nil
                    results[question.type] = QueryResult(
                        question: question,
                        result: (answer ?? lastResort).map { .answer($0) } ?? .failure(.unusable(reason)),
                        source: lastResort == nil ? source : SourceName(.preset), took: took)
                    left -= 1
                    if left == 0 { continuation.resume() }
                }
            }
        }
    }
}

/// What `query` found, and how it is printed.
struct QueryResult: Sendable {
    let question: Question
    let result: UpstreamResult
    /// The source that answered.
    let source: SourceName
    let took: Duration

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

    private var records: [CachedRecord] {
        guard case .answer(let answer) = result else { return [] }
        return answer.answers.map { CachedRecord($0) }
    }

    private var milliseconds: Int64 { took.nanoseconds / 1_000_000 }

    /// Lines for people: the status, then a line for each record.
    var text: String {
        // Where no source answered, the source is only what the failure was counted as.
        let origin = if case .failure = result { "after" } else { "from \(source.text) in" }
        let head = "\(question): \(status), \(origin) \(milliseconds) ms"
        return ([head] + records.map(\.text)).joined(separator: "\n")
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
            writer.member("answers", objects: records) { $0.write(to: &$1) }
        }
    }
}

extension QueryResult {
    /// What is answered without any source.
    init(question: Question, _ reply: LocalAnswers.Reply) {
        let result: UpstreamResult =
            switch reply {
            case .answer(let answer), .configured(let answer, _): .answer(answer)
            case .refusal(let code, _): .failure(.responseCode(code))
            }
        self.init(question: question, result: result, source: SourceName(reply.kind), took: .zero)
    }
}

extension EventLog {
    /// One that is not written.
    @Loop
    static func silent(on loop: EventLoop) -> EventLog {
        EventLog(Logger(label: "httpdnsd") { _ in SwiftLogNoOpLogHandler() }, clock: loop)
    }
}
