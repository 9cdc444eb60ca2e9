import DNSWire
import Scheduling

/// The types of a question while its sources are asked: one, or A and AAAA.
///
/// An answer of HTTPDNS is taken at once. One of LocalDNS is taken at once when LocalDNS goes first, else only after
/// HTTPDNS has failed, or, if it is verified, when HTTPDNS has not answered within `Budget.verified`.
@Loop
struct Slots {
    let rules: SourceRules
    let types: [RecordType]
    private let first: Slot
    private let second: Slot?

    /// - Parameter types: one, or two.
    init(_ types: [RecordType], _ rules: SourceRules) {
        self.rules = rules
        self.types = types
        first = Slot(types[0])
        second = types.count > 1 ? Slot(types[1]) : nil
    }

    @inline(__always)
    func forEach(_ body: (Slot) -> Void) {
        body(first)
        if let second { body(second) }
    }

    /// Whether every type has its result.
    var areSettled: Bool { !first.isOpen && second?.isOpen != true }

    /// Whether the first source is known not to answer some type, so that the second is asked before its time.
    var needSecond: Bool { first.needsSecond(rules) || second?.needsSecond(rules) == true }

    /// Whether a provider may still answer some type.
    var needProviders: Bool { first.awaitsProviders || second?.awaitsProviders == true }

    /// The types that a provider may still answer.
    var typesForProviders: [RecordType] {
        guard let second else { return types }
        return switch (first.awaitsProviders, second.awaitsProviders) {
        case (true, true): types
        case (true, false): [first.type]
        case (false, true): [second.type]
        case (false, false): []
        }
    }

    // MARK: HTTPDNS

    /// Adds a provider's reply.
    ///
    /// - Returns: whether asking another address of that provider is pointless.
    func add(_ reply: UpstreamReply, of candidate: Candidate) -> Bool {
        var isProviderOver = false
        forEach { slot in
            guard slot.awaitsProviders, let result = reply.results[slot.type] else { return }
            if slot.add(result, of: candidate, rules) { isProviderOver = true }
        }
        return isProviderOver
    }

    /// Adds an answer of a provider that another server has shared.
    ///
    /// - Parameter result: of it, what may be used here.
    func add(_ result: UpstreamResult, sharedAs found: SharedAnswer) {
        forEach { slot in
            if slot.type == found.type, slot.awaitsProviders { slot.add(result, sharedAs: found, rules) }
        }
    }

    /// A provider that has answered addresses of one family knows the name: its empty response holds for the other one.
    func confirmEmpty(of name: Name, by knowing: [Int]) {
        forEach { slot in
            guard slot.awaitsProviders, let empty = slot.empty, knowing.contains(empty.provider) else { return }
            slot.confirmEmpty(empty, name: name, rules)
        }
    }

    /// HTTPDNS cannot be asked until a probe succeeds: an answer of LocalDNS is taken meanwhile, but nothing is final
    /// as a failure yet.
    func awaitProbe() {
        forEach { if $0.awaitsProviders { $0.awaitProbe(rules) } }
    }

    /// No provider will answer any more.
    ///
    /// - Parameter none: the result of a type for which none has replied.
    func endProviders(_ none: UpstreamResult) {
        forEach { if $0.awaitsProviders { $0.endProviders(none, rules) } }
    }

    // MARK: Waits that end

    /// Whether an address of LocalDNS is verified for some type.
    var isVerified: Bool { first.isVerified || second?.isVerified == true }

    /// When a result that is already known is taken although the other source has not answered: a denial of the
    /// providers, or a verified answer of LocalDNS, and its denial of the other family. Nil when there is none.
    ///
    /// - Parameter denialDue: when a denial of LocalDNS is next taken, if the name's other family is verified by then.
    func nextConcession(denialDue: Instant) -> Instant? {
        var next: Instant?
        forEach { slot in
            guard let due = slot.wait.map({ due($0, denialDue) }) else { return }
            next = min(next ?? due, due)
        }
        return next
    }

    private func due(_ wait: Slot.Wait, _ denialDue: Instant) -> Instant {
        switch wait {
        case .confirmation: rules.lastStart
        case .betterAnswer: rules.began + Budget.verified
        case .otherFamily: isVerified ? rules.began + Budget.verified : denialDue
        }
    }

    /// Settles the types whose wait for the other source has ended.
    ///
    /// - Parameter isVerifiedElsewhere: whether another flight has verified addresses of LocalDNS for the name, which a
    ///   client that asks for this type has. While the other family is awaited here, nothing is conceded: a failure
    ///   waits for it anyway, and HTTPDNS may answer meanwhile.
    func concede(at now: Instant, denialDue: Instant, isVerifiedElsewhere: (RecordType) -> Bool) {
        let isVerified = isVerified
        let isAlone = second == nil || !first.isOpen || second?.isOpen == false
        forEach { slot in
            guard let wait = slot.wait, due(wait, denialDue) <= now else { return }
            if case .otherFamily = wait, !isVerified, !isAlone || !isVerifiedElsewhere(slot.type) { return }
            slot.endWait(rules)
        }
    }
}
