public import DNSWire

/// What a policy has that the one before had not.
public enum PolicyChange {
    /// Nothing that decides about a question.
    case nothing
    /// Names that are on other lists, or have other presets, and other clients: what it does not touch goes on.
    case names
    /// Sources, or what is made of their answers: every question is decided again.
    case sources
}

/// The rules by which questions are answered: replaced as a whole, never changed. Every flight refers to the one that
/// was in force when it began.
public final class ResolverPolicy: Sendable {
    public let localAnswers: LocalAnswers
    public let routes: RoutePolicy
    public let lines: SourceLines
    public let sources: SourceTags
    /// Addresses for names that no source could answer.
    public let lastResort: Presets
    /// Names that are resolved in advance of clients' queries.
    public let preresolve: [Name]
    /// Whether IPv6 addresses are made of IPv4 addresses.
    public let translation: Translation
    /// Whether there is a prefix, or one is awaited.
    let isTranslating: Bool
    /// Whether clients with DO or CD get other addresses of protected names than those without, whatever is asked.
    private let shapesBySigns: Bool

    /// - Parameter sources: the numbers of the sources that `lines` asks.
    public init(
        localAnswers: LocalAnswers, routes: RoutePolicy, lines: SourceLines, sources: SourceTags,
        lastResort: Presets = Presets(), preresolve: [Name] = [], translation: Translation = .none
    ) {
        self.translation = translation
        isTranslating = translation != .none
        shapesBySigns = isTranslating || localAnswers.families != .both || !lines.asksProvidersFirst
        self.lastResort = lastResort
        self.preresolve = preresolve
        self.localAnswers = localAnswers
        self.routes = routes
        self.lines = lines
        self.sources = sources
    }

    /// The source with a number, of this policy or an earlier one, in output, by the route by which it was asked.
    public func sourceName(_ tag: UInt16, by route: Route) -> SourceName {
        switch sources.source(of: tag) {
        case .provider(let index), .shared(let index):
            SourceName(AnswerKind(tag, route: route), provider: lines.providers[index].name)
        default: SourceName(AnswerKind(tag, route: route))
        }
    }

    /// Those of a client's flags that change what is asked for a type of a name, or what is answered.
    func heededFlags(
        of client: ClientQuestion?, _ name: Name, _ type: RecordType, by route: Route
    ) -> (dnssecOK: Bool, checkingDisabled: Bool) {
        guard let client else { return (false, false) }
        guard client.isSigned, !shapesBySigns, case .protect = route, type.isAddress else {
            return (client.dnssecOK, client.checkingDisabled)
        }
        let asked = lines.providers.filter { $0.serves(name) }
        return (
            client.dnssecOK && asked.contains { $0.answers(.rrsig) },
            client.checkingDisabled && asked.contains { $0.takesCheckingDisabled }
        )
    }

    /// Whether a name's AAAA is made of its A when a provider answers none (RFC 6147).
    ///
    /// A client that checks signatures itself gets what was answered (RFC 6147 section 5.5), and clients that are to use IPv4
    /// get no IPv6 addresses.
    func translates(_ type: RecordType, _ key: FlightKey) -> Bool {
        guard isTranslating, type == .aaaa, !key.checkingDisabled, case .protect = key.route else { return false }
        return localAnswers.families.yielding != .aaaa && !localAnswers.families.excludes(.aaaa)
    }

    /// The family that is suppressed where a name has addresses of the other one: none for clients that check signatures.
    func yielding(_ key: FlightKey) -> RacePart? {
        key.isSigned ? nil : localAnswers.families.yielding.map { $0 == .a ? .a : .aaaa }
    }

    /// The types of the flight for a name: A and AAAA, unless clients get only one of them, or one other type.
    func types(for type: RecordType, _ key: FlightKey) -> [RecordType] {
        guard type.isAddress else { return [type] }
        return key.isSigned
            ? Self.families : localAnswers.families.limiting(Self.families, for: type, isTranslating: isTranslating)
    }

    private static let families: [RecordType] = [.a, .aaaa]

    /// A preset name exists, whatever is answered for its other types: a client that gets NXDOMAIN drops its addresses
    /// too.
    func consistent(_ answer: consuming Answer, for key: FlightKey) -> Answer {
        guard answer.responseCode == .nameError, !key.isSigned, localAnswers.presets.addresses(of: key.name) != nil
        else {
            return answer
        }
        answer.responseCode = .noError
        return answer
    }

    /// Whether it decides about the name of a flight as another policy does that asks the same sources in the same way.
    func decides(about key: FlightKey, like other: ResolverPolicy) -> Bool {
        routes.route(for: key.name, key.type ?? .a) == key.route
            && routes.isInSearchDomain(key.name) == other.routes.isInSearchDomain(key.name)
            && localAnswers.presets.addresses(of: key.name) == other.localAnswers.presets.addresses(of: key.name)
            && lastResort.addresses(of: key.name) == other.lastResort.addresses(of: key.name)
    }

    /// The same policy with HTTPDNS switched off: LocalDNS is asked instead. `forward` entries stay.
    var switchedOff: ResolverPolicy {
        var routes = routes
        routes.mode = .localDNSOnly
        return ResolverPolicy(
            localAnswers: localAnswers, routes: routes, lines: lines, sources: sources, lastResort: lastResort,
            preresolve: preresolve, translation: translation)
    }
}

/// Whether IPv6 addresses are made of the IPv4 addresses of protected names (DNS64, RFC 6147), and by which prefix.
public enum Translation: Hashable, Sendable {
    /// No. The default.
    case none
    /// The network is being asked for its prefix: what would depend on that waits for it, for a second at most.
    case awaited
    /// By this prefix.
    case prefix(NAT64Prefix)

    /// How long an answer is held back while the prefix is awaited. The policy with the prefix then answers the client.
    static let longestWait = Duration.seconds(1)
}

extension Translation: CustomStringConvertible {
    /// The prefix, or why there is none.
    public var description: String {
        switch self {
        case .none: "none"
        case .awaited: "awaited"
        case .prefix(let prefix): prefix.description
        }
    }
}

extension NAT64Prefix {
    /// The answer to AAAA that stands for one to A: the same aliases, and a record of `longest` seconds at most for each
    /// address that can be translated (RFC 6147 section 5.1.7); nil when none can be.
    func translated(_ answer: Answer, longest: UInt32) -> Answer? {
        let records = answer.answers.compactMap { record -> Record? in
            guard let ipv4 = record.address else { return record.type == .rrsig ? nil : record }
            return address(for: ipv4).map { Record(name: record.name, address: $0, ttl: min(record.ttl, longest)) }
        }
        return records.contains { $0.type == .aaaa } ? Answer(answers: records) : nil
    }
}

extension Answer {
    /// Seconds for which "no address of this family" may be cached as answered, which bounds what is made in its place: its SOA's, or
    /// 600 without one (RFC 6147 section 5.1.7).
    public var translationTTL: UInt32 {
        authorities.first { $0.type == .soa }.map { min($0.ttl, $0.soaMinimum ?? $0.ttl) } ?? 600
    }

    /// Whether there are signatures, which a client that wants them could check: then nothing is made of the answer, nor in
    /// its place (RFC 6147 section 5.5).
    var hasSignatures: Bool {
        answers.contains { $0.type == .rrsig } || authorities.contains { $0.type == .rrsig }
    }
}
