import Admin
import Configuration
import DNSCache
import DNSResolver
import DNSWire
import HTTPDNS
import Logging
import Platform
import Scheduling
import Upstreams

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
            writer.member("answers", records)
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

/// The shared cache and the providers, asked once from this machine as the server would ask them: one call to each provider, of
/// which no limit knows.
///
/// One event loop has them all, on the thread of the caller: a process has one at a time.
@Loop
final class SourceVisit {
    /// What a provider is asked for that is for all names (RFC 2606).
    private static let neutralName = (try? Name("example.com")) ?? .root
    /// How much longer than the shared cache a provider may take, which may have to look its own host up.
    private static let extraTime = Duration.seconds(2)

    /// What came of it: nil where there is no shared cache, or it was not to be asked; and why a provider has not answered, by its
    /// name, nil where it has.
    typealias Outcome = (shared: SharedExamination?, questions: [String: String?])

    private var outcome: Outcome = (nil, [:])
    /// How many of them have not answered yet.
    private var left = 0
    private let settings: Configuration
    private let loop: EventLoop

    private nonisolated init(_ settings: Configuration, _ loop: EventLoop) {
        self.settings = settings
        self.loop = loop
    }

    /// Asks. Blocks, for `patience` and the extra time of providers at most.
    ///
    /// - Parameter asksShared: whether the shared cache is asked, where there is one.
    nonisolated static func outcome(
        of settings: Configuration, asking providers: [Configuration.ProviderEntry], asksShared: Bool,
        within patience: Duration
    ) throws(SystemError) -> Outcome {
        let asksShared = asksShared && settings.cache.shared.url != nil
        guard asksShared || !providers.isEmpty else { return (nil, [:]) }
        let loop = try EventLoop()
        let visit = SourceVisit(settings, loop)
        Loop.spawn {
            for provider in providers { visit.ask(provider) }
            if asksShared { visit.askShared(within: patience) }
            _ = loop.schedule(after: patience + extraTime) { loop.stop() }
        }
        loop.run()
        return Loop.assumeIsolated { visit.outcome }
    }

    private func askShared(within patience: Duration) {
        perform { [self] in
            let composition = Composition(settings, loop: loop, events: .silent(on: loop))
            outcome.shared = await composition.shared?.store.examine(until: loop.now + patience)
        }
    }

    private func ask(_ provider: Configuration.ProviderEntry) {
        outcome.questions[provider.name] = .some("no answer in time")
        perform { [self] in
            let question = Question(name: provider.names.first ?? Self.neutralName, type: .a)
            let lookup = SingleLookup([question], via: provider.name, loop: loop)
            await lookup.run(settings)
            outcome.questions[provider.name] = .some(lookup.found.compactMap(\.silence).first)
        }
    }

    /// Does one thing of the visit; the last ends it.
    private func perform(_ work: @escaping @Loop () async -> Void) {
        left += 1
        Loop.spawn { [self] in
            await work()
            left -= 1
            if left == 0 { loop.stop() }
        }
    }
}
