package import DNSWire

/// Answers that need no source: questions about the server itself, types that are not records, special-use names
/// (design: step 3).
package struct LocalAnswers: Sendable {
    /// What `version.bind` and `version.server` answer; nil refuses.
    private let version: String?
    /// What `hostname.bind` and `id.server` answer; nil refuses. Not the host's name: that is nobody's business.
    private let identity: String?

    /// Seconds that an answer made here may be kept by the client (RFC 6303 section 3 has 10,800).
    private static let ttl: UInt32 = 10_800

    package init(version: String? = "httpdnsd", identity: String? = "httpdnsd") {
        self.version = version
        self.identity = identity
    }

    /// A local reply: an answer, or a code with which the question is turned away.
    package enum Reply: Sendable, Hashable {
        case answer(Answer)
        case refusal(ResponseCode, ExtendedError)
    }

    /// The local reply to `question`; nil when a source must be asked.
    package func reply(to question: Question, policy: RoutePolicy) -> Reply? {
        switch (question.class, question.type) {
        case (_, .axfr), (_, .ixfr):
            return .refusal(.refused, ExtendedError(.prohibited, "zone transfers are not offered"))
        case (.chaos, _):
            return chaos(question)
        case (.internet, .any):
            // The least that RFC 8482 section 4.2 allows; a vendor is never asked.
            return .answer(
                Answer(answers: [
                    Record(name: question.name, type: .hinfo, ttl: Self.ttl, rdata: [7] + Array("RFC8482".utf8) + [0])
                ]))
        case (.internet, let type) where type.isMeta:
            return .refusal(.notImplemented, ExtendedError(.notSupported, "type \(type) is not a record"))
        case (.internet, _):
            return special(question, policy: policy).map { .answer($0) }
        default:
            return .refusal(.notImplemented, ExtendedError(.notSupported, "only class IN is resolved"))
        }
    }

    private func chaos(_ question: Question) -> Reply {
        let text: String? =
            switch question.name.lowercased.description {
            case "version.bind", "version.server": version
            case "hostname.bind", "id.server": identity
            default: nil
            }
        guard let text, question.type == .txt || question.type == .any else {
            return .refusal(.refused, ExtendedError(.prohibited, "not told"))
        }
        return .answer(Answer(answers: [.chaosText(text, name: question.name)]))
    }

    private func special(_ question: Question, policy: RoutePolicy) -> Answer? {
        guard let (zone, rule) = SpecialUseNames.rule(for: question.name) else { return nil }
        if rule.isOverridable, policy.listed(question.name, belowRoot: true) != nil { return nil }
        let nodata = Answer.negative(name: zone, ttl: Self.ttl)
        switch rule {
        case .loopback:
            return addresses([.v4(0x7f00_0001), .v6(1)], for: question) ?? nodata
        case .ipv4Only where question.name == zone:
            return addresses([.v4(0xc000_00aa), .v4(0xc000_00ab)], for: question) ?? nodata
        case .resolverDiscovery where question.name == zone:
            return nodata
        case .emptyZone where question.name == zone:
            return nodata
        case .emptyZone where question.type == .ptr && question.name == Self.loopbackReverse:
            return Answer(answers: [
                Record(name: question.name, type: .ptr, ttl: Self.ttl, rdata: Self.localhost.wire)
            ])
        case .emptyZone, .ipv4Only, .resolverDiscovery, .alwaysNonexistent:
            return .negative(.nameError, name: zone, ttl: Self.ttl)
        }
    }

    /// Those of `addresses` that the question asks for; nil if there are none.
    private func addresses(_ addresses: [IPAddress], for question: Question) -> Answer? {
        let wanted = addresses.filter { $0.recordType == question.type }
        return wanted.isEmpty ? nil : Answer(name: question.name, addresses: wanted, ttl: Self.ttl)
    }

    private static let localhost = (try? Name("localhost")) ?? .root
    private static let loopbackReverse = (try? Name("1.0.0.127.in-addr.arpa")) ?? .root
}
