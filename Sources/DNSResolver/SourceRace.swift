import DNSWire
import Scheduling

/// One of the two sources of a protected name.
enum Contender: Hashable, Sendable {
    case httpdns
    case localDNS

    /// The other one.
    var other: Contender { self == .httpdns ? .localDNS : .httpdns }
}

/// What is known, while HTTPDNS and LocalDNS are asked for the same name, of each type; and which of it is taken.
///
/// An answer of HTTPDNS is taken at once. One of LocalDNS is taken at once when LocalDNS goes first, else only after
/// HTTPDNS has failed.
struct SourceRace {
    /// One thing to be asked.
    enum Work {
        case httpdns([RecordType])
        case localDNS(RecordType)
    }

    /// What has come of one type.
    struct Settled {
        let type: RecordType
        let result: UpstreamResult
        let source: Source
        let server: String
    }

    private struct Results {
        var httpdns: UpstreamResult?
        var localDNS: UpstreamResult?
        var localSource = Source.localDNS
        var provider = 0
        /// The address of the provider's service, and the server of LocalDNS.
        var service = ""
        var localServer = ""
    }

    /// Seconds for which "no service binding" is kept when the providers that could tell have failed.
    private static let failedServiceBindingTTL: UInt32 = 5

    let key: FlightKey
    /// Whether a provider may be asked for it in one request with others.
    let mayBeBatched: Bool
    let providers: [Int]
    let began: Instant
    let first: Contender
    private let mayUseLocalDNS: Bool
    private let isServiceBinding: Bool
    private var settled: [Settled] = []
    private var results = RecordTypeMap<Results>()
    private var open: [RecordType]
    private var hasStartedHTTPDNS = false
    private var hasStartedLocalDNS = false

    init(
        key: FlightKey, mayBeBatched: Bool, providers: [Int], first: Contender, mayUseLocalDNS: Bool,
        isServiceBinding: Bool, began: Instant
    ) {
        self.key = key
        self.mayBeBatched = mayBeBatched
        self.providers = providers
        self.first = first
        self.mayUseLocalDNS = mayUseLocalDNS
        self.isServiceBinding = isServiceBinding
        self.began = began
        open = key.types
    }

    /// Whether every type is settled.
    var isOver: Bool { open.isEmpty }

    /// Whether the first source is known not to answer some type, so that the second need not wait for its time.
    var needsSecond: Bool {
        open.contains { type in
            switch first {
            case .httpdns: results[type]?.httpdns != nil
            case .localDNS: results[type]?.localDNS != nil
            }
        }
    }

    /// What is to be asked as `contender` starts; nothing the second time, or when it may not or can no longer be asked.
    mutating func start(_ contender: Contender, at now: Instant) -> [Work] {
        let types = open
        switch contender {
        case .httpdns:
            guard !hasStartedHTTPDNS else { return [] }
            hasStartedHTTPDNS = true
            guard providers.isEmpty else { return [.httpdns(types)] }
            for type in types { results[type, default: Results()].httpdns = .failure(.unusable("no provider")) }
        case .localDNS:
            guard !hasStartedLocalDNS else { return [] }
            hasStartedLocalDNS = true
            if mayUseLocalDNS, now < began + Budget.lastStart { return types.map { .localDNS($0) } }
            for type in types { results[type, default: Results()].localDNS = .failure(.timeout) }
        }
        for type in types { decide(type) }
        return []
    }

    /// What was settled since the last time.
    mutating func takeSettled() -> [Settled] {
        guard !settled.isEmpty else { return [] }
        defer { settled = [] }
        return settled
    }

    mutating func take(_ reply: ProviderSelector.Reply) {
        reply.results.forEach { type, result in
            guard open.contains(type) else { return }
            var known = results[type] ?? Results()
            known.httpdns = result
            if let source = reply.sources[type] { (known.provider, known.service) = source }
            results[type] = known
            decide(type)
        }
    }

    mutating func take(_ type: RecordType, _ told: LocalDNSResult, from server: String) {
        results[type, default: Results()].localDNS = told.result
        results[type]?.localSource = told.source
        results[type]?.localServer = server
        decide(type)
    }

    /// Settles what neither source has settled: nothing more will come.
    mutating func settleRest() {
        for type in open {
            if results[type]?.httpdns == nil { results[type, default: Results()].httpdns = .failure(.timeout) }
            if results[type]?.localDNS == nil { results[type]?.localDNS = .failure(.timeout) }
            decide(type)
        }
    }

    private mutating func decide(_ type: RecordType) {
        guard open.contains(type), let known = results[type] else { return }
        if let result = known.httpdns, case .answer = result {
            finish(type, result, .provider(index: known.provider), known.service)
        } else if let result = known.localDNS, case .answer = result, first == .localDNS || known.httpdns != nil {
            finish(type, result, known.localSource, known.localServer)
        } else if let httpdns = known.httpdns, let localDNS = known.localDNS {
            finish(type, failure(httpdns, localDNS), mayUseLocalDNS ? .localDNS : .rule, "")
        }
    }

    /// What is told when neither source has an answer: "empty" only when nobody who was asked failed.
    private func failure(_ httpdns: UpstreamResult, _ localDNS: UpstreamResult) -> UpstreamResult {
        guard mayUseLocalDNS else {
            // A browser that is told SERVFAIL of a service binding may give up; without one it goes on with A and AAAA.
            if isServiceBinding, case .failure = httpdns { return .unknownEmpty(ttl: Self.failedServiceBindingTTL) }
            return httpdns
        }
        guard !providers.isEmpty, case .failure(let first) = httpdns, case .failure(let second) = localDNS else {
            return localDNS
        }
        return .failure(.combined(httpdns: first, localDNS: second))
    }

    private mutating func finish(_ type: RecordType, _ result: UpstreamResult, _ source: Source, _ server: String) {
        if let index = open.firstIndex(of: type) { open.remove(at: index) }
        settled.append(Settled(type: type, result: result, source: source, server: server))
    }
}
