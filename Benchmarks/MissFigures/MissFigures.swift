import DNSCache
import DNSResolver
import DNSWire
import Glibc
import Platform

/// Resolves names that are not in the cache as the daemon does, without sockets: the provider's replies are generated
/// here.
///
///     MissFigures COUNT
///
/// Each question is for another name, of type A, and its flight asks for both families. One is under way at a time.
@main
struct MissFigures {
    static func main() throws {
        guard CommandLine.arguments.count == 2, let count = Int(CommandLine.arguments[1]) else {
            print("usage: MissFigures COUNT")
            exit(2)
        }
        let loop = try EventLoop()
        Loop.spawn {
            do {
                try Run(count: count, loop: loop).askNext()
            } catch {
                print("\(error)")
                exit(1)
            }
        }
        loop.run()
    }
}

/// One measurement.
@Loop
private final class Run {
    private let resolver: Resolver
    /// So many names are made at least.
    private static let prepared = 2_000

    private let questions: [Question]
    private let count: Int
    private let loop: EventLoop
    private var asked = 0
    private var failed = 0

    init(count: Int, loop: EventLoop) throws {
        // As many for every count: what is counted of a miss does not begin with the making of its name.
        questions = try (0..<max(count, Self.prepared)).map {
            Question(name: try Name("m\(1_000_000 + $0).bench.example"), type: .a)
        }
        self.count = count
        let localDNS = NoLocalDNS()
        let checks = AddressChecks(
            ports: [], handshake: NoHandshake(), journal: HijackJournal(timeOfDay: { 0 }, report: { _ in }),
            timeOfDay: TimeOfDay(released: 0, clock: loop, secondsSince1970: { 0 }, report: { _ in }), clock: loop)
        let sources = SourceTags(localDNS: 1, forwards: [], providers: [0x8001])
        let routes = RoutePolicy()
        let lines = SourceLines(
            mode: routes.mode, providers: [FakeProvider(loop)], probes: Probes(clock: loop, report: { _ in }),
            localDNS: localDNS, forwarders: [], checks: checks, certificateCheck: .off)
        let policy = ResolverPolicy(localAnswers: LocalAnswers(), routes: routes, lines: lines, sources: sources)
        let store = AnswerStore(
            memory: MemoryCache(memory: 64 << 20), freshness: FreshnessPolicy(), generation: PolicyGeneration(),
            policy: policy, badAddresses: BadAddresses(clock: loop), clock: loop)
        resolver = Resolver(policy: policy, store: store, clock: loop)
        self.loop = loop
    }

    func askNext() {
        guard asked < count else {
            print("\(count) questions, \(failed) failed")
            exit(failed == 0 ? 0 : 1)
        }
        let question = questions[asked]
        asked += 1
        let client = ClientQuestion(question: question, client: .v4(0x7f00_0001), arrived: loop.now)
        resolver.respond(to: client) { [self] response in
            if case .answer = response.content {} else { failed += 1 }
            loop.atTurnEnd { self.askNext() }
        }
    }
}

/// A provider with one address.
@Loop
private final class FakeProvider: Provider {
    nonisolated let name = "fake"
    nonisolated let names: [Name] = []
    nonisolated let answersBothFamilies = true
    nonisolated let isAuthenticated = true
    nonisolated let clientScoping: ClientScoping? = nil
    let endpoints: [any Endpoint]
    let unavailability: String? = nil
    let callShare: Int? = nil
    let waitingRequests = 0
    nonisolated let mayHedge = true
    var access = Backoff(.seconds(30)...(.seconds(600)))

    init(_ loop: EventLoop) { endpoints = [FakeEndpoint(loop)] }

    nonisolated func answers(_ type: RecordType) -> Bool { type.isAddress }

    func leftOut() {}
}

/// Answers each question with one address of each family at the end of the turn.
@Loop
private final class FakeEndpoint: Endpoint {
    nonisolated let name = "192.0.2.53:443"
    let health = AddressHealth()
    private let loop: EventLoop

    init(_ loop: EventLoop) { self.loop = loop }

    func begin(
        _ question: UpstreamQuestion, delayed: @escaping @Loop () -> Void,
        done: @escaping @Loop (UpstreamReply) -> Void
    ) -> any Cancellable {
        let reply = UpstreamReply(question.types) { type in
            let address: IPAddress = type == .a ? .v4(0xc000_0201) : .v6(0x2001_0db8 << 96 | 1)
            return .answer(Answer(name: question.name, addresses: [address], ttl: 60))
        }
        loop.atTurnEnd { done(reply) }
        return Request()
    }

    func probe(until deadline: Instant, done: @escaping @Loop (UpstreamReply) -> Void) -> any Cancellable {
        loop.atTurnEnd { done(UpstreamReply([.a]) { _ in .indeterminateEmpty(ttl: nil) }) }
        return Request()
    }

    func retireConnections() {}
}

/// A request that cannot be cancelled.
@Loop
private final class Request: Cancellable {
    func cancel() {}
}

/// A LocalDNS that never answers.
@Loop
private final class NoLocalDNS: Upstream {
    nonisolated let name = "localdns"

    nonisolated init() {}

    func begin(
        _ question: UpstreamQuestion, delayed: @escaping @Loop () -> Void,
        done: @escaping @Loop (UpstreamReply) -> Void
    ) -> any Cancellable {
        Request()
    }
}

/// Is never asked for one.
@Loop
private final class NoHandshake: Handshake {
    func shakeHands(with address: IPAddress, port: UInt16, as name: Name, until deadline: Instant) async
        -> HandshakeOutcome
    {
        .cancelled
    }
}
