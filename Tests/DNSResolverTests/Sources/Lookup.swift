import DNSCache
import DNSWire
import Scheduling
import TestSupport
import TestUpstreams

@testable import DNSResolver

/// One name looked up by a line of sources with nothing cached, and what came of it.
@Loop
final class Lookup {
    private(set) var results: [RecordType: UpstreamResult] = [:]
    private(set) var sources: [RecordType: Source] = [:]
    /// Whether every type that was asked for has its result.
    var isOver: Bool { results.count == asked }
    private var asked = 0
    /// The last flight, as long as something refers to it.
    private(set) weak var flight: Flight?

    nonisolated init() {}

    /// - Parameter forwarders: how many there are in `lines`.
    func begin(
        _ lines: SourceLines, providers: Int, forwarders: Int = 0, _ types: [RecordType], route: Route,
        searchDomains: [Name] = [], clock: ManualClock
    ) {
        let tags = SourceTags(forwards: forwarders, providers: providers)
        let policy = ResolverPolicy(
            localAnswers: LocalAnswers(), routes: RoutePolicy(searchDomains: searchDomains), lines: lines,
            sources: tags)
        let store = AnswerStore(
            memory: MemoryCache(memory: 1 << 20), freshness: FreshnessPolicy(), generation: PolicyGeneration(),
            policy: policy, badAddresses: BadAddresses(clock: clock), clock: clock)
        let flights = Flights(policy, store: store, clock: clock, limit: 100)
        let name = (try? Name("www.example.com")) ?? .root
        asked = types.count
        for type in types {
            let key = FlightKey(
                name: name, type: type, route: route, dnssecOK: false, checkingDisabled: false,
                generation: store.generation)
            defer { flight = flights.coalescer.flight(for: key) ?? flight }
            _ = flights.ask(key, type, arrived: clock.now) { [self] outcome in
                switch outcome {
                case .given(let response)?:
                    results[type] = response.records(for: Question(name: name, type: type)).map { .answer($0) }
                    sources[type] = response.source.flatMap { tags.source(of: $0) }
                case .missing(_, let error)?:
                    results[type] = .failure(
                        error.code == .networkError ? .network(error.text) : .unusable(error.text))
                case nil: results[type] = .failure(.cancelled)
                }
            }
        }
    }
}

extension SourceLines {
    /// Lines of which no address of LocalDNS is checked, with probes of their own.
    convenience init(
        _ mode: Mode = .httpdnsFirst, providers: [any Provider], filter: AddressFilter = AddressFilter(),
        localDNS: any Upstream, forwarders: [any Upstream] = [], shared: (any SharedAnswers)? = nil,
        guardsServiceBindings: Bool = true, clock: ManualClock,
        report: @escaping @Loop (ResolverEvent) -> Void = { _ in }
    ) {
        let checks = AddressChecks(
            ports: [], handshake: FakeHandshake(clock: clock),
            journal: HijackJournal(timeOfDay: { 0 }, report: { _ in }), timeOfDay: TimeOfDay(clock: clock), clock: clock
        )
        self.init(
            mode: mode, providers: providers, filter: filter, probes: Probes(clock: clock, report: report),
            localDNS: localDNS, forwarders: forwarders, checks: checks, certificateCheck: .off, shared: shared,
            guardsServiceBindings: guardsServiceBindings)
    }
}
