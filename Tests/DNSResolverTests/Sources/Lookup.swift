import DNSCache
import DNSWire
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
                name: name, type: type, route: route, dnssecOK: false, checkingDisabled: false)
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

/// One network: two addresses of a provider, a LocalDNS, and the results of one flight so far.
@Loop
final class LookupNetwork {
    let clock = ManualClock()
    let first: FakeUpstream
    let second: FakeUpstream
    let localDNS: FakeUpstream
    let forwarder: FakeUpstream
    var provider: FakeProvider
    var mode = Mode.httpdnsFirst
    var filter = AddressFilter()
    var shared: (any SharedAnswers)?
    private var lookup = Lookup()
    var results: [RecordType: UpstreamResult] { lookup.results }
    var sources: [RecordType: Source] { lookup.sources }
    var finished: Bool { lookup.isOver }
    var flight: Flight? { lookup.flight }
    var events: [ResolverEvent] = []

    init(answersBothFamilies: Bool = true, anyType: Bool = false) {
        first = FakeUpstream("first", .addresses("192.0.2.1", "2001:db8::1"), clock: clock)
        second = FakeUpstream("second", .addresses("192.0.2.2", "2001:db8::2"), clock: clock)
        localDNS = FakeUpstream("localdns", .addresses("203.0.113.9", "2001:db8::9"), clock: clock)
        forwarder = FakeUpstream("forward", .addresses("198.51.100.1"), clock: clock)
        provider = FakeProvider(
            "vendor", addresses: [first, second], answersBothFamilies: answersBothFamilies, anyType: anyType)
    }

    /// Starts a flight for the name, and lets so much time pass.
    func fly(
        _ types: [RecordType] = [.a, .aaaa], route: Route = .protect(explicit: false),
        providers: [FakeProvider]? = nil, mayBeLocal: Bool = false, for time: Duration = .zero
    ) async {
        let lines = SourceLines(
            mode, providers: providers ?? [provider], filter: filter, localDNS: localDNS, forwarders: [forwarder],
            shared: shared, clock: clock
        ) { self.events.append($0) }
        lookup = Lookup()
        lookup.begin(
            lines, providers: providers?.count ?? 1, forwarders: 1, types, route: route,
            searchDomains: mayBeLocal ? [(try? Name("example.com")) ?? .root] : [], clock: clock)
        await clock.advance(by: time)
    }

    func addresses(_ type: RecordType) -> [String] {
        guard case .answer(let answer)? = results[type] else { return [] }
        return answer.addresses.map(\.description)
    }

    /// Seconds for which a type has "no such records"; nil: it has another result.
    func emptyTTL(_ type: RecordType) -> UInt32? {
        guard case .answer(let answer)? = results[type], answer.isNegative(for: type),
            answer.responseCode == .noError
        else { return nil }
        return answer.authorities.first?.ttl
    }
}
