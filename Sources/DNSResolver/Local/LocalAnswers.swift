public import DNSWire

/// Answers that need no source: questions about the server itself, meta-types, static addresses, special-use names, and
/// the address family that is excluded. An object: each question looks into it.
public final class LocalAnswers: Sendable {
    /// What a server says when it is asked which program it is, and which host: that is not disclosed.
    public static let serverName = "httpdnsd"

    /// Static addresses.
    public let presets: Presets
    /// The address families that are asked for.
    public let families: FamilyPreference
    /// How this server is reached encrypted; nil: it is not, or does not say so.
    private let designated: DesignatedResolver?
    /// Whether browsers are to keep to this server.
    private let hidesCanary: Bool

    /// TTL in seconds of an answer made here (RFC 6303 section 3 has 10,800).
    private static let ttl: UInt32 = 10_800
    /// TTL in seconds of configured answers: a change of the configuration reaches clients soon.
    private static let configuredTTL: UInt32 = 60
    /// TTL in seconds of answers given instead of LocalDNS's, which may become available at any moment.
    private static let absentNetworkTTL: UInt32 = 10

    public init(
        presets: Presets = Presets(), families: FamilyPreference = .both, designated: DesignatedResolver? = nil,
        hidesCanary: Bool = true
    ) {
        self.hidesCanary = hidesCanary
        self.designated = designated
        self.presets = presets
        self.families = families
    }

    /// A local reply: an answer, or an RCODE with which the question is refused.
    public enum Reply: Sendable, Hashable {
        case answer(Answer)
        /// From the configuration, and the same for all clients until that changes: static addresses, or a rule's empty
        /// answer.
        case configured(Answer, Source)
        case refusal(ResponseCode, ExtendedError)

        /// How it is counted and named.
        public var kind: AnswerKind { if case .configured(_, .preset) = self { .preset } else { .rule } }
    }

    /// The local reply to `question`, whose client may want signatures or validate them; nil when a source must be asked.
    public func reply(to question: Question, policy: RoutePolicy, isSigned: Bool = false) -> Reply? {
        switch (question.class, question.type) {
        case (_, .axfr), (_, .ixfr):
            return .refusal(.refused, ExtendedError(.prohibited, "zone transfers are not offered"))
        case (.chaos, _):
            return chaos(question)
        case (.internet, let type) where type.isMeta:
            return .refusal(.notImplemented, ExtendedError(.notSupported, "type \(type) is not a record"))
        case (.internet, _):
            return address(of: question, policy: policy, isSigned: isSigned)
        default:
            return .refusal(.notImplemented, ExtendedError(.notSupported, "only class IN is resolved"))
        }
    }

    /// In order: special-use names that cannot be overridden, presets, other special-use names, excluded families.
    private func address(of question: Question, policy: RoutePolicy, isSigned: Bool) -> Reply? {
        let rule = SpecialUseNames.rule(for: question.name)
        if rule?.rule.isOverridable != false, let preset = preset(for: question) { return .configured(preset, .preset) }
        if let rule, rule.rule != .canary || hidesCanary, !isTakenOver(question.name, rule.rule, by: policy),
            var answer = special(question, rule, policy)
        {
            // A preset name exists, though it has no records of this type.
            if rule.rule.isOverridable, presets.addresses(of: question.name) != nil { answer.responseCode = .noError }
            return .answer(answer)
        }
        guard families.excludes(question.type), !isSigned else { return nil }
        return .configured(.negative(name: question.name, ttl: Self.configuredTTL), .rule)
    }

    /// HTTPS and SVCB records hold addresses too, so a preset name has none. Other types are asked for.
    private func preset(for question: Question) -> Answer? {
        guard question.type.isServiceBinding else { return presets.answer(to: question, ttl: Self.configuredTTL) }
        return presets.addresses(of: question.name).map { _ in
            .negative(name: question.name, ttl: Self.configuredTTL)
        }
    }

    private func chaos(_ question: Question) -> Reply {
        let names = ["version.bind", "version.server", "hostname.bind", "id.server"]
        guard names.contains(question.name.lowercased.description), question.type == .txt || question.type == .any
        else {
            return .refusal(.refused, ExtendedError(.prohibited, "not disclosed"))
        }
        return .answer(Answer(answers: [.chaosText(Self.serverName, name: question.name)]))
    }

    /// The answer for a name of the local network while no LocalDNS can be asked: that of an empty zone (RFC 6303, RFC
    /// 8375), with a short TTL. Nil for any other name.
    public func withoutLocalDNS(_ question: Question, policy: RoutePolicy) -> Answer? {
        guard let zone = policy.networkZone(of: question.name) else { return nil }
        let found = SpecialUseNames.rule(for: question.name) ?? (zone, .emptyZone)
        return special(question, found, policy, ttl: Self.absentNetworkTTL)
            ?? .negative(name: found.zone, ttl: Self.absentNetworkTTL)
    }

    /// Whether a list or the network overrides a special-use name. Where the prefix of a translator is known the network
    /// need not be asked for it, and may not know it (RFC 8880 section 7.1).
    private func isTakenOver(_ name: Name, _ rule: SpecialUseNames.Rule, by policy: RoutePolicy) -> Bool {
        guard rule.isOverridable, !policy.isListed(name) else { return rule.isOverridable }
        return policy.networkZone(of: name) != nil && !(rule.showsTranslator && policy.translator != nil)
    }

    private func special(
        _ question: Question, _ found: (zone: Name, rule: SpecialUseNames.Rule), _ policy: RoutePolicy,
        ttl: UInt32 = LocalAnswers.ttl
    ) -> Answer? {
        let (zone, rule) = found
        let nodata = Answer.negative(name: zone, ttl: ttl)
        switch rule {
        case .loopback:
            return Answer(those: [.v4(0x7f00_0001), .v6(1)], for: question, ttl: ttl) ?? nodata
        case .ipv4Only where question.name == zone:
            let wellKnown: [IPAddress] = [.v4(0xc000_00aa), .v4(0xc000_00ab)]
            let translated = wellKnown.compactMap { policy.translator?.address(for: $0) }
            // The prefix may be another soon.
            return Answer(those: wellKnown + translated, for: question, ttl: Self.configuredTTL) ?? nodata
        case .resolverDiscovery where question.name == zone:
            let records = question.type == .svcb ? designated?.records(ttl: Self.configuredTTL) ?? [] : []
            return records.isEmpty ? nodata : Answer(answers: records)
        case .reverse(let target) where question.name == zone:
            guard question.type == .ptr else { return nodata }
            return Answer(answers: [Record(name: question.name, type: .ptr, ttl: Self.ttl, rdata: target.wire)])
        case .emptyZone where question.name == zone && question.type == .ds:
            return nil
        case .emptyZone where question.name == zone && question.type == .soa:
            return Answer(answers: [.negativeSOA(for: zone, ttl: ttl)])
        case .emptyZone where question.name == zone:
            return nodata
        case .canary, .emptyZone, .reverse, .ipv4Only, .resolverDiscovery, .alwaysNonexistent:
            return .negative(.nameError, name: zone, ttl: ttl)
        }
    }

}

/// Static addresses, found by name: one hash look-up for a name, and one for each of its parents when there are
/// wildcards.
public struct Presets: Hashable, Sendable {
    private var exact: [Name: [IPAddress]] = [:]
    /// By the part after `*.`.
    private var below: [Name: [IPAddress]] = [:]

    public init() {}

    /// How many entries there are; a wildcard counts as one.
    public var count: Int { exact.count + below.count }

    /// Adds the addresses of a name, unless it has some already: what was added first stays.
    ///
    /// - Parameters:
    ///   - isWildcard: the entry is for all names below `name`, not for itself.
    ///   - addresses: of both families, in the order in which they are answered. Without any, nothing is added.
    public mutating func add(_ name: Name, isWildcard: Bool = false, addresses: [IPAddress]) {
        guard !addresses.isEmpty else { return }
        let name = name.lowercased
        if isWildcard {
            if below[name] == nil { below[name] = addresses }
        } else {
            if exact[name] == nil { exact[name] = addresses }
        }
    }

    /// The addresses of a name in any letter case: its own, else those of the longest wildcard above it.
    public func addresses(of name: Name) -> [IPAddress]? {
        if let own = exact[name] { return own }
        return wildcard(above: name).flatMap { below[$0] }
    }

    /// The entry that has the addresses of a name in lower case.
    func rule(for name: Name) -> RoutingRule? {
        if exact[name] != nil { return .preset(name, isWildcard: false) }
        return wildcard(above: name).map { .preset($0, isWildcard: true) }
    }

    /// The longest one, without its `*.`.
    private func wildcard(above name: Name) -> Name? {
        guard !below.isEmpty else { return nil }
        var suffix = name.parent
        while let current = suffix {
            if below[current] != nil { return current }
            suffix = current.parent
        }
        return nil
    }

    /// The answer to a question for addresses of a preset name.
    ///
    /// A preset covers both families: without addresses of one the answer is NODATA, and no source is asked for it.
    ///
    /// - Parameter ttl: in seconds.
    /// - Returns: nil for another name, or another type than A and AAAA.
    public func answer(to question: Question, ttl: UInt32) -> Answer? {
        guard question.type.isAddress, let addresses = addresses(of: question.name) else { return nil }
        return Answer(those: addresses, for: question, ttl: ttl) ?? .negative(name: question.name, ttl: ttl)
    }
}

extension Answer {
    /// Those of some addresses that the question asks for; nil if there are none.
    fileprivate init?(those addresses: [IPAddress], for question: Question, ttl: UInt32) {
        let wanted = addresses.filter { $0.recordType == question.type }
        guard !wanted.isEmpty else { return nil }
        self.init(name: question.name, addresses: wanted, ttl: ttl)
    }
}

/// The address family that clients are to use (`[answers] prefer`).
///
/// Applies to every route, but not to local answers, nor to questions with DO or CD: a client that validates signatures
/// must get what was signed.
public enum FamilyPreference: String, CaseIterable, Sendable {
    /// Either. The default.
    case both
    /// No IPv6 addresses of a name that has IPv4 addresses.
    case ipv4
    /// No IPv4 addresses of a name that has IPv6 addresses.
    case ipv6
    /// No IPv6 addresses, and no source is asked for them.
    case ipv4Only = "ipv4-only"
    /// No IPv4 addresses, and no source is asked for them, unless IPv6 addresses are made of them.
    case ipv6Only = "ipv6-only"

    /// Whether records of this type are never answered, whatever a name has.
    public func excludes(_ type: RecordType) -> Bool {
        switch self {
        case .ipv4Only: type == .aaaa
        case .ipv6Only: type == .a
        case .both, .ipv4, .ipv6: false
        }
    }

    /// The `types` to ask for when a client wants `wanted`: without an excluded family, unless that is `wanted`.
    func limiting(_ types: [RecordType], for wanted: RecordType, isTranslating: Bool = false) -> [RecordType] {
        switch self {
        case .both, .ipv4, .ipv6: types
        case .ipv6Only where isTranslating: types
        case .ipv4Only, .ipv6Only: types.filter { $0 == wanted || !excludes($0) }
        }
    }

    /// The type whose records are suppressed for names that have addresses of the other family.
    public var yielding: RecordType? {
        switch self {
        case .ipv4: .aaaa
        case .ipv6: .a
        case .both, .ipv4Only, .ipv6Only: nil
        }
    }
}
