import DNSWire
import Scheduling

/// One type of a question while its sources are asked: what each has said, and what follows from that.
@Loop
final class Slot {
    /// What the providers say.
    private enum HTTPDNS {
        /// Nothing so far.
        case awaited
        /// Nothing before a probe of theirs succeeds: an answer of LocalDNS is taken meanwhile.
        case away
        /// NXDOMAIN, for a name that may be of the local network.
        case denies(SourcedResult)
        /// An indeterminate empty response, or a failure.
        case down(UpstreamResult)
    }

    let type: RecordType
    private var httpdns = HTTPDNS.awaited
    /// The last empty response of a provider.
    private(set) var empty: EmptyFamily?
    /// The last failure of each provider.
    private var failures: [(provider: Int, failure: UpstreamFailure)] = []
    /// LocalDNS's response before its check, and the server that sent it.
    private var response: (result: UpstreamResult, server: String)?
    /// What may be used of that response.
    private var checked: CheckedAnswer?
    /// Whether it has no result yet.
    private(set) var isOpen = true
    private var result: SourcedResult?

    init(_ type: RecordType) { self.type = type }

    /// Removes and returns its result, once it has one.
    func takeResult() -> SourcedResult? {
        // Mostly there is none, and then nothing is moved.
        result == nil ? nil : result.take()
    }

    private func settle(_ settled: consuming SourcedResult) {
        isOpen = false
        result = settled
    }

    // MARK: What is known

    /// Whether a provider may still answer it.
    var awaitsProviders: Bool {
        guard isOpen else { return false }
        return switch httpdns {
        case .awaited, .away: true
        case .denies, .down: false
        }
    }

    /// Whether the first source is known not to answer it, so that the second is asked before its time.
    func needsSecond(_ rules: SourceRules) -> Bool {
        guard isOpen else { return false }
        if rules.first == .localDNS { return checked != nil }
        if case .awaited = httpdns { return false }
        return true
    }

    /// Whether an address of LocalDNS is verified.
    var isVerified: Bool { if case .verified? = checked { true } else { false } }

    /// Whether LocalDNS answered NXDOMAIN or NODATA, whether that is accepted or not.
    private var isNegative: Bool {
        if case .answer(let answer)? = response?.result { answer.isNegative(for: type) } else { false }
    }

    /// What it waits for although something is known of it; nil: nothing is, or nothing ends the wait.
    var wait: Wait? {
        guard isOpen else { return nil }
        switch httpdns {
        case .denies: return checked == nil ? .confirmation : nil
        case .awaited where isVerified: return .betterAnswer
        case .awaited where checked != nil && isNegative: return .otherFamily
        case .awaited, .away, .down: return nil
        }
    }

    enum Wait {
        /// The providers deny the name, and LocalDNS has not responded.
        case confirmation
        /// LocalDNS's answer is verified, and HTTPDNS has not answered.
        case betterAnswer
        /// LocalDNS denies the type, which only the name's other family verifies, and HTTPDNS has not answered.
        case otherFamily
    }

    // MARK: Events

    /// Adds a provider's result. The slot awaits the providers.
    ///
    /// - Returns: whether asking another address of that provider is pointless.
    func add(_ found: UpstreamResult, of candidate: Candidate, _ rules: SourceRules) -> Bool {
        switch found {
        case .answer(let answer):
            answered(
                SourcedResult(type, found, .provider(index: candidate.index), candidate.endpoint.name),
                isDenial: rules.mayBeLocal && answer.responseCode == .nameError, rules)
            return false
        case .indeterminateEmpty(let ttl):
            failures.removeAll { $0.provider == candidate.index }
            empty = EmptyFamily(
                provider: candidate.index, server: candidate.endpoint.name, sentTTL: ttl, deadline: rules.lastStart)
            return true
        case .failure(let failure):
            // An address that fails takes nothing back of what another one of the provider has said.
            guard empty?.provider != candidate.index else { return true }
            failures.removeAll { $0.provider == candidate.index }
            failures.append((candidate.index, failure))
            return failure.endsProvider
        }
    }

    /// Adds an answer of a provider that another server has shared. The slot awaits the providers.
    func add(_ result: UpstreamResult, sharedAs found: SharedAnswer, _ rules: SourceRules) {
        guard case .answer(let answer) = result else { return }
        var shared = SourcedResult(type, result, .provider(index: found.provider), found.server)
        shared.sharedFor = found.remaining
        answered(shared, isDenial: rules.mayBeLocal && answer.responseCode == .nameError, rules)
    }

    /// The provider of its empty response has answered addresses of the other family: the response then holds for this
    /// one.
    func confirmEmpty(_ empty: EmptyFamily, name: Name, _ rules: SourceRules) {
        answered(
            SourcedResult(
                type, .answer(.negative(name: name, ttl: empty.ttl)), .provider(index: empty.provider), empty.server),
            isDenial: false, rules)
    }

    private func answered(_ answer: consuming SourcedResult, isDenial: Bool, _ rules: SourceRules) {
        guard isDenial else { return settle(answer) }
        httpdns = .denies(answer)
        decide(rules)
    }

    /// HTTPDNS cannot be asked until a probe succeeds.
    func awaitProbe(_ rules: SourceRules) {
        httpdns = .away
        decide(rules)
    }

    /// No provider will answer it any more. A type for which only some sent an empty response, while others failed, is a
    /// failure: the others might know it.
    ///
    /// - Parameter none: the result in case none has replied.
    func endProviders(_ none: UpstreamResult, _ rules: SourceRules) {
        if let last = failures.max(by: { $0.provider < $1.provider }) {
            httpdns = .down(.failure(last.failure))
        } else if let empty {
            httpdns = .down(.indeterminateEmpty(ttl: empty.sentTTL))
        } else {
            httpdns = .down(none)
        }
        decide(rules)
    }

    /// LocalDNS has responded: for a name that the providers deny that is enough.
    func responded(_ result: UpstreamResult, from server: String, _ rules: SourceRules) {
        response = (result, server)
        decide(rules)
    }

    /// LocalDNS's response was checked.
    func checked(_ answer: CheckedAnswer, _ rules: SourceRules) {
        checked = answer
        decide(rules)
    }

    /// What it waits for is not waited for any longer.
    func endWait(_ rules: SourceRules) {
        switch wait {
        case .confirmation: checked = .refused(.timeout)
        case .betterAnswer: httpdns = .down(.failure(.timeout))
        // They fail, which is no answer of their own, so that the client has the other family's addresses at once.
        case .otherFamily: (httpdns, checked) = (.down(.failure(.timeout)), .refused(.timeout))
        case nil: return
        }
        decide(rules)
    }

    // MARK: Decision

    /// Settles it as soon as what is known suffices: by the rows of "All states in one table" (Documentation/Strategy.md).
    /// An answer of HTTPDNS needs no decision.
    private func decide(_ rules: SourceRules) {
        guard isOpen else { return }
        switch (httpdns, response?.result, checked) {
        case (.denies(let denial), .answer(let answer)?, _) where answer.isNegative(for: type):
            settle(denial)
        case (.denies, .answer?, .verified(let answer)?) where rules.needsProof:
            var settled = local(.answer(answer), .verifiedLocalDNS)
            settled.isDenied = true
            settle(settled)
        case (.denies, .answer?, nil) where rules.needsProof: break
        case (.denies, .answer(let answer)?, _) where !rules.needsProof:
            // No certificate is needed, for no public service has the name.
            var settled = SourcedResult(type, .answer(answer), .localDNS, response?.server ?? "")
            settled.isDenied = true
            settle(settled)
        case (.denies(var denial), .some, _), (.denies(var denial), _, .some):
            denial.isDenied = true
            settle(denial)
        case (.denies, nil, nil): break
        case (.down, _, .some(let checked)), (.away, _, .some(let checked)):
            if let answer = checked.answer {
                settle(local(.answer(answer), checked.source))
            } else if case .down(let result) = httpdns, case .refused(let failure) = checked {
                settle(local(failed(result, failure, rules), rules.mayUseLocalDNS ? .localDNS : .rule))
            }
        case (.awaited, _, let checked?) where rules.first == .localDNS:
            if let answer = checked.answer { settle(local(.answer(answer), checked.source)) }
        case (.awaited, _, _), (.away, _, _), (.down, _, _): break
        }
    }

    /// A result that no provider gave.
    private func local(_ result: UpstreamResult, _ source: Source) -> SourcedResult {
        var settled = SourcedResult(type, result, source, response?.server ?? "")
        settled.empty = empty
        return settled
    }

    /// The result when neither source has an answer: "empty" only when no source that was asked failed.
    private func failed(_ httpdns: UpstreamResult, _ localDNS: UpstreamFailure, _ rules: SourceRules) -> UpstreamResult
    {
        guard rules.mayUseLocalDNS else {
            // A browser that gets SERVFAIL for a service binding may give up; without one it goes on with A and AAAA.
            if rules.isServiceBinding, case .failure = httpdns {
                return .indeterminateEmpty(ttl: SourceRules.failedServiceBindingTTL)
            }
            return httpdns
        }
        // What both call empty is empty, though neither is accepted alone.
        if case .indeterminateEmpty = httpdns, isNegative { return httpdns }
        guard rules.hasProviders, case .failure(let first) = httpdns else { return .failure(localDNS) }
        return .failure(.combined(httpdns: first, localDNS: localDNS))
    }
}

extension UpstreamFailure {
    /// Whether asking another address of the same provider is pointless.
    fileprivate var endsProvider: Bool {
        switch self {
        case .authentication, .clockSkew, .rejected, .responseCode, .forged, .cancelled: true
        case .timeout, .slow, .noServer, .network, .unusable, .certificate, .busy, .overloaded: false
        }
    }
}
