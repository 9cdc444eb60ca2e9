import Admin
import Configuration
import DNSCache
import DNSResolver
import DNSWire
import HTTPDNS
import Logging
import Platform
import Upstreams

extension Composition {
    /// Puts the questions for one name to the sources, once.
    ///
    /// - Parameter via: the only source that is asked: `httpdns`, `localdns` or the name of a provider; nil: all.
    /// - Returns: what was found, in the order of the questions.
    func lookUp(_ questions: [Question], via: String?) async -> [QueryResult] {
        let routes = Self.routes(settings, settings.answers.dns64 ?? Translation.none)
        var results: [RecordType: QueryResult] = [:]
        for question in questions where via == nil {
            let reply = localAnswers().reply(to: question, policy: routes)
            results[question.type] = reply.map { QueryResult(question: question, $0) }
        }
        let asked = questions.filter { results[$0.type] == nil }
        // Both families in one flight, any other type in one of its own, as of clients.
        let flights = [asked.filter(\.type.isAddress)] + asked.filter { !$0.type.isAddress }.map { [$0] }
        for questions in flights where !questions.isEmpty {
            for result in await ask(questions, via: via, routes) { results[result.question.type] = result }
        }
        return questions.compactMap { results[$0.type] }
    }

    /// Asks for all of them in one flight.
    private func ask(_ questions: [Question], via: String?, _ routes: RoutePolicy) async -> [QueryResult] {
        let name = questions[0].name.lowercased
        var (mode, route) = (routes.mode, routes.route(for: name, questions[0].type))
        var provider: String?
        switch via {
        case nil: break
        case "localdns": route = .bypass
        case "httpdns": (mode, route) = (.httpdnsOnly, .protect(explicit: true))
        case let name?: (mode, route, provider) = (.httpdnsOnly, .protect(explicit: true), name)
        }
        let lastResort = via == nil ? lastResort() : Presets()
        let policy = ResolverPolicy(
            localAnswers: localAnswers(), routes: routes, lines: lines(mode: mode, onlyProvider: provider),
            sources: sources, lastResort: lastResort)
        let race = SingleRace(policy, clock: loop)
        let began = loop.now
        return await withCheckedContinuation { continuation in
            var results: [QueryResult] = []
            for question in questions {
                race.ask(name, question.type, by: route) { answer, source, reason in
                    let preset = answer == nil ? lastResort.answer(to: question, ttl: Reply.staleTTL) : nil
                    results.append(
                        QueryResult(
                            question: question,
                            result: (answer ?? preset).map { .answer($0) } ?? .failure(.unusable(reason)),
                            source: preset == nil ? source : SourceName(.preset), took: loop.now - began))
                    if results.count == questions.count { continuation.resume(returning: results) }
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

/// The sources of a configuration, asked once from this machine as the server would ask them: by `query` for a name, by `check`
/// and `doctor` with one call to each provider, of which no limit knows.
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
    typealias Outcome = (shared: (place: String, outcome: SharedExamination)?, questions: [String: String?])

    private var outcome: Outcome = (nil, [:])
    private var results: [QueryResult] = []
    /// How many questions have no answer yet.
    private var left = 0
    private let loop: EventLoop
    private lazy var composition = Composition(settings, loop: loop, events: .silent(on: loop))
    private let settings: Configuration

    private nonisolated init(_ settings: Configuration, _ loop: EventLoop) {
        self.settings = settings
        self.loop = loop
    }

    /// Puts the questions for one name to the sources. Blocks.
    ///
    /// - Parameter via: as of `Composition.lookUp`.
    nonisolated static func results(
        for questions: [Question], via: String?, by settings: Configuration
    ) throws(SystemError) -> [QueryResult] {
        let visit = SourceVisit(settings, try EventLoop())
        visit.run { visit.perform { visit.results = await visit.composition.lookUp(questions, via: via) } }
        return Loop.assumeIsolated { visit.results }
    }

    /// Asks each of the providers. Blocks, for `patience` and the extra time of providers at most.
    ///
    /// - Parameter asksShared: whether the shared cache is asked, where there is one.
    nonisolated static func outcome(
        of settings: Configuration, asking providers: [Configuration.ProviderEntry], asksShared: Bool,
        within patience: Duration
    ) throws(SystemError) -> Outcome {
        let asksShared = asksShared && settings.cache.shared.redis != nil
        guard asksShared || !providers.isEmpty else { return (nil, [:]) }
        let visit = SourceVisit(settings, try EventLoop())
        visit.run {
            for provider in providers { visit.ask(provider) }
            if asksShared {
                visit.perform {
                    guard let store = visit.composition.shared?.store else { return }
                    visit.outcome.shared = (store.name, await store.examine(until: visit.loop.now + patience))
                }
            }
            _ = visit.loop.schedule(after: patience + extraTime) { visit.loop.stop() }
        }
        return Loop.assumeIsolated { visit.outcome }
    }

    private nonisolated func run(_ begin: @escaping @Sendable @Loop () -> Void) {
        Loop.spawn { begin() }
        loop.run()
    }

    private func ask(_ provider: Configuration.ProviderEntry) {
        outcome.questions[provider.name] = .some("no answer in time")
        perform { [self] in
            let question = Question(name: provider.names.first ?? Self.neutralName, type: .a)
            let found = await composition.lookUp([question], via: provider.name)
            outcome.questions[provider.name] = .some(found.compactMap(\.silence).first)
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
