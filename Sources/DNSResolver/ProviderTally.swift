import DNSWire

/// What several providers said to one question, added up type by type.
struct ProviderTally {
    /// Seconds for which "this name has no address of that family" is kept at most, when a service gives one TTL for
    /// both families or a long one for an empty family.
    private static let emptyFamilyLimit: UInt32 = 300

    /// What a reply says of asking its provider further.
    enum Verdict {
        case providerMayBeAskedAgain
        case providerFinished
    }

    private let question: UpstreamQuestion
    private var wasAsked = false
    private var settled = RecordTypeMap<UpstreamResult>()
    private var sources = RecordTypeMap<(provider: Int, server: String)>()
    private var unknown = RecordTypeMap<(source: (provider: Int, server: String), ttl: UInt32?)>()
    /// The providers that have told records of the name.
    private var knowing: [Int] = []
    /// By type, then by provider: what one told later replaces its failure.
    private var failures = RecordTypeMap<[Int: UpstreamFailure]>()

    init(_ question: UpstreamQuestion) { self.question = question }

    /// The types without an answer.
    var openTypes: [RecordType] { question.types.filter { settled[$0] == nil } }

    /// Whether every type has its answer.
    var isSettled: Bool { question.types.allSatisfy { settled[$0] != nil } }

    mutating func take(_ reply: UpstreamReply, from provider: Int, at server: String) -> Verdict {
        wasAsked = true
        var verdict = Verdict.providerMayBeAskedAgain
        let knowsName = reply.results.values.contains { result in
            if case .answer(let answer) = result { !answer.answers.isEmpty } else { false }
        }
        if knowsName, !knowing.contains(provider) { knowing.append(provider) }
        for (type, result) in reply.results where settled[type] == nil {
            switch result {
            case .answer:
                settle(type, result, (provider, server))
            case .unknownEmpty(let ttl):
                unknown[type] = ((provider, server), ttl)
                failures[type]?[provider] = nil
                verdict = .providerFinished
            case .failure(let failure):
                failures[type, default: [:]][provider] = failure
                if failure.endsProvider { verdict = .providerFinished }
            }
        }
        settleEmptyFamilies()
        return verdict
    }

    /// Who has told addresses of one family knows the name: what it calls empty is the other family, not the name.
    private mutating func settleEmptyFamilies() {
        for (type, empty) in unknown where settled[type] == nil && knowing.contains(empty.source.provider) {
            let ttl = min(empty.ttl ?? Self.emptyFamilyLimit, Self.emptyFamilyLimit)
            settle(type, .answer(.negative(name: question.name, ttl: ttl)), empty.source)
        }
    }

    private mutating func settle(
        _ type: RecordType, _ result: UpstreamResult, _ source: (provider: Int, server: String)
    ) {
        settled[type] = result
        sources[type] = source
    }

    /// The types that have their answer, for those who need not wait for the others; nil when there is none.
    var answered: ProviderSelector.Reply? {
        settled.isEmpty ? nil : ProviderSelector.Reply(results: settled, sources: sources)
    }

    /// A type that only some providers called empty, while others failed, is a failure: the others might know it.
    ///
    /// - Parameter hindrance: what to tell of types for which nobody could be asked.
    func reply(hindrance: @autoclosure () -> String) -> ProviderSelector.Reply {
        var results = settled
        for type in question.types where results[type] == nil {
            if let failure = failures[type]?.max(by: { $0.key < $1.key })?.value {
                results[type] = .failure(failure)
            } else if let empty = unknown[type] {
                results[type] = .unknownEmpty(ttl: empty.ttl)
            } else {
                results[type] = .failure(wasAsked ? .timeout : .network(hindrance()))
            }
        }
        return ProviderSelector.Reply(results: results, sources: sources)
    }
}

extension UpstreamFailure {
    /// Whether asking another address of the same provider is pointless.
    var endsProvider: Bool {
        switch self {
        case .authentication, .rejected, .responseCode, .cancelled: true
        case .timeout, .slow, .network, .unusable, .certificate, .forged, .busy, .overloaded: false
        }
    }
}

extension UpstreamReply {
    /// Whether the same address may as well not be asked again: only silence and broken connections pass by themselves.
    var endsEndpoint: Bool {
        !results.values.contains { result in
            if case .failure(let failure) = result { failure.isTransport } else { false }
        }
    }

    /// Whether the attempt was given up before anything came of it.
    var isCancelled: Bool { results.values.allSatisfy { $0 == .failure(.cancelled) } }

    /// Why nothing at all was told; nil when something was, or the attempt was given up.
    var failure: UpstreamFailure? {
        var last: UpstreamFailure?
        for result in results.values {
            guard case .failure(let failure) = result else { return nil }
            if failure != .cancelled { last = failure }
        }
        return last
    }

    /// Whose fault it is that a reply is not an answer, the gravest last.
    enum Blame {
        case none
        case nobody
        case address(String, severe: Bool)
        case certificate(String)
        /// It said when to come back.
        case busy(String, Duration)
        case access(String)

        fileprivate var gravity: Int {
            switch self {
            case .none: 0
            case .nobody: 1
            case .address(_, severe: false): 2
            case .address(_, severe: true): 3
            case .certificate: 4
            case .busy: 5
            case .access: 6
            }
        }
    }

    /// One answer among the results speaks for the address; else the gravest failure counts, once for each request.
    var blame: Blame {
        guard !isRepetition else { return .nobody }
        var blame = Blame.nobody
        for result in results.values {
            guard case .failure(let failure) = result else { return .none }
            if failure.blame.gravity > blame.gravity { blame = failure.blame }
        }
        return blame
    }
}

extension UpstreamFailure {
    fileprivate var blame: UpstreamReply.Blame {
        switch self {
        case .authentication(let reason): .access(reason)
        case .busy(let reason, let pause): .busy(reason, pause)
        case .network(let reason): .address(reason, severe: true)
        case .unusable(let reason), .forged(let reason): .address(reason, severe: false)
        case .certificate(let reason): .certificate(reason)
        case .timeout: .address("no answer in time", severe: false)
        case .slow, .responseCode, .rejected, .overloaded, .cancelled: .nobody
        }
    }
}
