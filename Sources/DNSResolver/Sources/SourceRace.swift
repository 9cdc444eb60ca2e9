import DNSWire
import Scheduling

/// One of the two sources of a protected name.
enum Contender: Hashable, Sendable {
    case httpdns
    case localDNS

    var other: Contender { self == .httpdns ? .localDNS : .httpdns }
}

/// The state of each type while HTTPDNS and LocalDNS are asked for the same name, and the choice between their answers.
///
/// An answer of HTTPDNS is taken at once. One of LocalDNS is taken at once when LocalDNS goes first, else only after
/// HTTPDNS has failed, or, if it is verified, when HTTPDNS has not answered within `Budget.verified`.
struct SourceRace {
    /// The final result of one type.
    struct Settled {
        let type: RecordType
        let result: UpstreamResult
        let source: Source
        let server: String
        /// Whether the providers deny the name, and LocalDNS has addresses or has not answered.
        let isDenied: Bool
    }

    /// The state of one type.
    private struct Entry {
        let type: RecordType
        /// The result of HTTPDNS when that is no answer, or a denial that LocalDNS may override: any other answer is
        /// taken at once.
        var httpdns: UpstreamResult?
        /// For a denial: its source and server.
        var denial: (source: Source, server: String)?
        /// What may be used of LocalDNS's response.
        var localDNS: LocalDNSResult?
        var isOpen = true
        /// Set until `takeSettled()` returns it.
        var settled: Settled?

        /// How long after the start of the question the known result is taken although the other source has not
        /// answered; nil: never.
        var concession: Duration? {
            guard isOpen else { return nil }
            if denial != nil, localDNS == nil { return Budget.lastStart }
            if httpdns == nil, localDNS?.isVerified == true { return Budget.verified }
            return nil
        }

        mutating func settle(
            _ result: UpstreamResult, _ source: Source, _ server: String, isDenied: Bool = false
        ) {
            isOpen = false
            settled = Settled(type: type, result: result, source: source, server: server, isDenied: isDenied)
        }
    }

    /// Seconds for which "no service binding" is cached when the providers that could answer have failed.
    private static let failedServiceBindingTTL: UInt32 = 5

    let first: Contender
    private let began: Instant
    private let hasProviders: Bool
    private let mayUseLocalDNS: Bool
    private let isServiceBinding: Bool
    /// Whether the name may be one of the local network, so that LocalDNS is asked when HTTPDNS denies it.
    private let mayBeLocal: Bool
    private let types: [RecordType]
    /// One for each type, in the order of `types`.
    private var entries: [Entry] = []
    /// The types for which a provider sent an empty response: outside the entries, which are copied for each question.
    private var emptyFamilies: [(type: RecordType, family: EmptyFamily)] = []
    /// The responses of LocalDNS, before their checks: outside as well.
    private var responses: [(type: RecordType, result: UpstreamResult, server: String)] = []
    /// Whether the failure of HTTPDNS is temporary, since all its addresses are in backoff.
    private var awaitsProbe = false
    /// When a denial of LocalDNS is next taken, if the name's other family is verified by then.
    private var denialDue = Budget.verified
    private var hasStartedHTTPDNS = false
    private var hasStartedLocalDNS = false

    init(
        _ types: [RecordType], first: Contender, hasProviders: Bool, mayUseLocalDNS: Bool, isServiceBinding: Bool,
        mayBeLocal: Bool = false, began: Instant
    ) {
        self.types = types
        self.first = first
        self.hasProviders = hasProviders
        self.mayUseLocalDNS = mayUseLocalDNS
        self.isServiceBinding = isServiceBinding
        self.mayBeLocal = mayBeLocal && mayUseLocalDNS
        self.began = began
        entries.reserveCapacity(types.count)
        for type in types { entries.append(Entry(type: type)) }
    }

    /// Whether every type is settled.
    var isOver: Bool {
        for index in entries.indices where entries[index].isOpen { return false }
        return true
    }

    /// Whether LocalDNS denies a type that HTTPDNS has not answered: nothing verifies a denial but the name's other family.
    private func isDenied(_ index: Int) -> Bool {
        guard entries[index].isOpen, entries[index].httpdns == nil, entries[index].localDNS != nil else { return false }
        return isNegative(entries[index].type)
    }

    /// Whether LocalDNS answered NXDOMAIN or NODATA, whether that is accepted or not.
    private func isNegative(_ type: RecordType) -> Bool {
        if case .answer(let answer)? = response(of: type)?.result { answer.isNegative(for: type) } else { false }
    }

    /// Whether the first source is known not to answer some type, so that the second is asked before its time.
    @inline(__always)
    var needsSecond: Bool {
        for index in entries.indices where entries[index].isOpen {
            switch first {
            case .httpdns: if entries[index].httpdns != nil { return true }
            case .localDNS: if entries[index].localDNS != nil { return true }
            }
        }
        return false
    }

    /// When a result that is already known is taken although the other source has not answered: a denial of the
    /// providers, or a verified answer of LocalDNS, and its denial of the other family. Nil when there is none.
    var nextConcession: Instant? {
        var next: Instant?
        for index in entries.indices {
            guard let due = entries[index].concession ?? (isDenied(index) ? denialDue : nil) else { continue }
            next = min(next ?? began + due, began + due)
        }
        return next
    }

    func isOpen(_ type: RecordType) -> Bool { entries.contains { $0.type == type && $0.isOpen } }

    var openTypes: [RecordType] {
        for index in entries.indices where !entries[index].isOpen { return entries.filter(\.isOpen).map(\.type) }
        return types
    }

    /// The types to ask for when `contender` starts; none on the second call, or when it must not or can no longer be
    /// asked.
    mutating func start(_ contender: Contender, at now: Instant) -> [RecordType] {
        switch contender {
        case .httpdns:
            guard !hasStartedHTTPDNS else { return [] }
            hasStartedHTTPDNS = true
            if hasProviders { return openTypes }
            for index in entries.indices {
                entries[index].httpdns = .failure(.unusable("no provider"))
                decide(index)
            }
        case .localDNS:
            guard !hasStartedLocalDNS else { return [] }
            hasStartedLocalDNS = true
            if mayUseLocalDNS, now < began + Budget.lastStart { return openTypes }
            for index in entries.indices {
                entries[index].localDNS = LocalDNSResult(.failure(.timeout))
                decide(index)
            }
        }
        return []
    }

    /// Removes and returns one type that was settled and not yet reported; nil when there is none.
    mutating func takeSettled() -> Settled? {
        for index in entries.indices where entries[index].settled != nil { return entries[index].settled.take() }
        return nil
    }

    /// What the providers found of a type that is not settled by an answer of theirs, or provisionally; nil: nothing.
    @inline(__always)
    func finding(_ settled: Settled) -> ProviderFinding? {
        if settled.isDenied { return .denied }
        guard !emptyFamilies.isEmpty else { return nil }
        switch settled.source {
        case .localDNS, .verifiedLocalDNS, .rule:
            return emptyFamilies.last { $0.type == settled.type }.map { .empty($0.family) }
        case .forward, .provider, .preset: return nil
        }
    }

    /// HTTPDNS cannot be asked until a probe succeeds: an answer of LocalDNS is taken meanwhile, but nothing is final
    /// as a failure yet.
    mutating func awaitProbe(reason: String) {
        awaitsProbe = true
        for index in entries.indices where entries[index].isOpen {
            entries[index].httpdns = .failure(.network(reason))
            decide(index)
        }
    }

    /// Takes the results of the providers.
    ///
    /// - Parameter isLast: whether no more will follow.
    mutating func take(_ reported: [ProviderTally.Entry], isLast: Bool) {
        if isLast { awaitsProbe = false }
        for index in entries.indices where entries[index].isOpen {
            for place in reported.indices where reported[place].type == entries[index].type {
                guard let result = reported[place].result else { continue }
                if case .answer(let answer) = result {
                    let source = Source.provider(index: reported[place].provider)
                    if mayBeLocal, answer.responseCode == .nameError {
                        entries[index].httpdns = result
                        entries[index].denial = (source, reported[place].server)
                        decide(index)
                    } else {
                        entries[index].settle(result, source, reported[place].server)
                    }
                } else {
                    entries[index].httpdns = result
                    if let empty = reported[place].empty { emptyFamilies.append((reported[place].type, empty)) }
                    decide(index)
                }
            }
        }
    }

    /// Takes the response of LocalDNS before its check: for a name that the providers deny it is enough.
    mutating func take(_ type: RecordType, response: UpstreamResult, from server: String) {
        responses.append((type, response, server))
        for index in entries.indices where entries[index].type == type { decide(index) }
    }

    /// Takes what may be used of that response.
    mutating func take(_ type: RecordType, _ result: LocalDNSResult) {
        if result.isVerified { denialDue = Budget.verified }
        for index in entries.indices where entries[index].type == type {
            entries[index].localDNS = result
            decide(index)
        }
    }

    /// Settles the types that neither source has settled, when nothing more will come.
    mutating func settleRest() {
        awaitsProbe = false
        for index in entries.indices {
            if entries[index].httpdns == nil { entries[index].httpdns = .failure(.timeout) }
            if entries[index].localDNS == nil { entries[index].localDNS = LocalDNSResult(.failure(.timeout)) }
            decide(index)
        }
    }

    /// Settles the types whose wait for the other source has ended.
    ///
    /// - Parameter isVerified: whether an address of LocalDNS, perhaps of another flight, is verified for the name.
    mutating func concede(at now: Instant, isVerified: () -> Bool) {
        concedeDenials(at: now, isVerified: isVerified)
        for index in entries.indices {
            guard let due = entries[index].concession, began + due <= now else { continue }
            if entries[index].denial == nil {
                entries[index].httpdns = .failure(.timeout)
            } else {
                entries[index].localDNS = LocalDNSResult(.failure(.timeout))
            }
            decide(index)
        }
    }

    /// Settles the families that LocalDNS denies of a name that has a verified address: they fail, which is no answer
    /// of their own, so that the client has those addresses at once.
    private mutating func concedeDenials(at now: Instant, isVerified: () -> Bool) {
        guard began + denialDue <= now, entries.indices.contains(where: isDenied) else { return }
        guard entries.contains(where: { $0.localDNS?.isVerified == true }) || isVerified() else {
            denialDue += Budget.hedge
            return
        }
        for index in entries.indices where isDenied(index) {
            entries[index].httpdns = .failure(.timeout)
            entries[index].localDNS = LocalDNSResult(.failure(.timeout))
            decide(index)
        }
    }

    private mutating func decide(_ index: Int) {
        guard entries[index].isOpen else { return }
        if let denial = entries[index].denial { return decide(index, denial) }
        let (httpdns, localDNS) = (entries[index].httpdns, entries[index].localDNS)
        if let localDNS, case .answer = localDNS.result, first == .localDNS || httpdns != nil {
            entries[index].settle(localDNS.result, localDNS.source, response(of: entries[index].type)?.server ?? "")
        } else if let httpdns, let localDNS, !awaitsProbe {
            let result = failure(entries[index].type, httpdns, localDNS)
            entries[index].settle(result, mayUseLocalDNS ? .localDNS : .rule, "")
        }
    }

    private func response(of type: RecordType) -> (type: RecordType, result: UpstreamResult, server: String)? {
        responses.last { $0.type == type }
    }

    /// The providers deny a name that may be one of the local network: records of LocalDNS take precedence, and nothing
    /// else. They need no certificate, for no public service has the name.
    private mutating func decide(_ index: Int, _ denial: (source: Source, server: String)) {
        guard let httpdns = entries[index].httpdns else { return }
        let type = entries[index].type
        let response = response(of: type)
        if case .answer(let answer)? = response?.result {
            if answer.isNegative(for: type) {
                entries[index].settle(httpdns, denial.source, denial.server)
            } else {
                entries[index].settle(.answer(answer), .localDNS, response?.server ?? "", isDenied: true)
            }
        } else if response != nil || entries[index].localDNS != nil {
            entries[index].settle(httpdns, denial.source, denial.server, isDenied: true)
        }
    }

    /// The result when neither source has an answer: "empty" only when no source that was asked failed.
    private func failure(
        _ type: RecordType, _ httpdns: UpstreamResult, _ localDNS: LocalDNSResult
    ) -> UpstreamResult {
        guard mayUseLocalDNS else {
            // A browser that gets SERVFAIL for a service binding may give up; without one it goes on with A and AAAA.
            if isServiceBinding, case .failure = httpdns {
                return .indeterminateEmpty(ttl: Self.failedServiceBindingTTL)
            }
            return httpdns
        }
        // What both call empty is empty, though neither is accepted alone.
        if case .indeterminateEmpty = httpdns, isNegative(type) { return httpdns }
        guard hasProviders, case .failure(let first) = httpdns, case .failure(let second) = localDNS.result else {
            return localDNS.result
        }
        return .failure(.combined(httpdns: first, localDNS: second))
    }
}
