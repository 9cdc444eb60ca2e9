import Admin
import ArgumentParser
import DNSCache
import Configuration
import DNSResolver
import DNSWire
import Logging
import Logs
import Platform
import Scheduling
import Upstreams

/// `httpdnsd query`: asks the sources once, as the server would with an empty cache, and says who answered.
struct QueryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query", abstract: "Looks a name up once, without the server, and says who answered.",
        discussion: """
            With --via cache nobody is asked: the answer is what the running server has in its cache, read over its control
            socket.
            """)

    @OptionGroup var control: ControlOptions

    @Argument(help: "The name.")
    var name: String

    @Argument(help: "The type, such as A, AAAA, MX or TYPE65.")
    var type = "A"

    @Option(help: "Ask only this source: httpdns, localdns, cache, or the name of a provider.")
    var via: String?

    func validate() throws {
        do throws(NameError) {
            _ = try Name(name)
        } catch {
            throw ValidationError("\(name): not a name: \(error)")
        }
        guard let type = RecordType(type), !type.isMeta else {
            throw ValidationError("\(type): not a type that can be looked up, such as A, AAAA or MX")
        }
    }

    func run() throws {
        if via == "cache" { return try askCache() }
        let settings = try control.file.load().configuration
        guard let name = try? Name(name), let type = RecordType(type) else { throw ExitStatus.usage.exitCode }
        let loop = try EventLoop()
        let lookup = SingleLookup(Question(name: name, type: type), via: via, loop: loop)
        Loop.spawn {
            await lookup.run(settings)
            loop.stop()
        }
        loop.run()
        switch Loop.assumeIsolated({ lookup.outcome }) {
        case .answered(let result)?:
            print(control.json ? result.json : result.text)
            if !result.isAnswer { throw ExitStatus.no.exitCode }
        case .noSuchSource(let known)?:
            printError("--via \(via ?? ""): no such source; there are \(known.joined(separator: ", "))")
            throw ExitStatus.usage.exitCode
        case nil:
            throw ExitStatus.no.exitCode
        }
    }
}

extension QueryCommand {
    /// Prints what the running server has cached for the name and type.
    private func askCache() throws {
        let reply = try control.perform { client throws(ControlError) in
            try client.get("/v1/cache/entry", [("name", name)], as: CacheReport.self)
        }
        let type = RecordType(self.type)?.description
        var report = reply.report
        report.entries.removeAll { $0.type != type || $0.isSigned }
        if control.json {
            print(report.json)
        } else if report.entries.isEmpty {
            printError("\(name) \(self.type) is not cached")
        } else {
            print(report.showText)
        }
        guard report.entries.contains(where: { !$0.isNegative }) else { throw ExitStatus.no.exitCode }
    }
}

/// One question put to the sources.
@Loop
private final class SingleLookup {
    enum Outcome: Sendable {
        case answered(QueryResult)
        case noSuchSource(known: [String])
    }

    private(set) var outcome: Outcome?
    private let question: Question
    private let via: String?
    private let loop: EventLoop

    nonisolated init(_ question: Question, via: String?, loop: EventLoop) {
        self.question = question
        self.via = via
        self.loop = loop
    }

    func run(_ settings: Configuration) async {
        let logger = Logger(label: "httpdnsd") { _ in SwiftLogNoOpLogHandler() }
        let composition = Composition(settings, loop: loop, events: EventLog(logger, clock: loop))
        let policy = composition.routes()
        if via == nil, let reply = composition.localAnswers().reply(to: question, policy: policy) {
            outcome = .answered(QueryResult(question: question, reply))
            return
        }
        var (mode, route) = (policy.mode, policy.route(for: question.name.lowercased))
        var provider: String?
        switch via {
        case nil: break
        case "localdns": route = .bypass
        case "httpdns": (mode, route) = (.httpdnsOnly, .protect(explicit: true))
        case let name? where composition.providerNames.contains(name):
            (mode, route, provider) = (.httpdnsOnly, .protect(explicit: true), name)
        default:
            outcome = .noSuchSource(known: ["httpdns", "localdns", "cache"] + composition.providerNames)
            return
        }
        let strategy = composition.strategy(mode: mode, onlyProvider: provider)
        let key = FlightKey(
            name: question.name.lowercased, types: [question.type], route: route, dnssecOK: false,
            checkingDisabled: false)
        let began = loop.now
        let lastResort = via == nil ? composition.lastResort().answer(to: question, ttl: Reply.staleTTL) : nil
        await strategy.run(key) { [self] _, result, source, _ in
            let took = loop.now - began
            if let lastResort, result.isOutdone(from: source, by: route, policy) {
                outcome = .answered(
                    QueryResult(
                        question: question, result: .answer(lastResort), source: "the preset of last resort", took: took
                    ))
                return
            }
            outcome = .answered(
                QueryResult(
                    question: question, result: result, source: provider ?? composition.name(of: source), took: took))
        }
    }
}

extension UpstreamResult {
    /// Whether a preset of last resort goes before it: nobody answered, or only LocalDNS in reserve.
    fileprivate func isOutdone(from source: DNSResolver.Source, by route: DNSResolver.Route, _ routes: RoutePolicy)
        -> Bool
    {
        guard case .answer = self else { return true }
        return source == .localDNS && routes.prefersProviders(route)
    }
}
