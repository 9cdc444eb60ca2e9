public import DNSCache
public import DNSWire

/// One client's question, as the server passes it to the resolver. An object: every step that waits refers to it.
public final class ClientQuestion: Sendable {
    /// In the client's letter case.
    public let question: Question
    public let dnssecOK: Bool
    public let checkingDisabled: Bool
    /// The client's address; for limits, rules and client subnets.
    public let client: IPAddress
    /// The client network whose fair share the question counts against.
    public let network: ClientNetwork
    /// Whether its network may not be sent to any upstream.
    public let hidesNetwork: Bool
    /// When the query was received: every deadline counts from here.
    public let arrived: Instant
    /// Where its steps are noted; nil: nowhere.
    let trace: Trace?

    /// - Parameter network: nil: that of the address.
    public init(
        question: Question, dnssecOK: Bool = false, checkingDisabled: Bool = false, client: IPAddress,
        network: ClientNetwork? = nil, hidesNetwork: Bool = false, arrived: Instant, trace: Trace? = nil
    ) {
        self.trace = trace
        self.question = question
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
        self.client = client
        self.network = network ?? ClientNetwork(client)
        self.hidesNetwork = hidesNetwork
        self.arrived = arrived
    }
}

extension ClientQuestion {
    /// Whether the client validates signatures, or wants them.
    var isSigned: Bool { dnssecOK || checkingDisabled }

    /// The same client's question for another type, of class IN.
    func asking(for type: RecordType) -> ClientQuestion {
        ClientQuestion(
            question: Question(name: question.name, type: type), dnssecOK: dnssecOK,
            checkingDisabled: checkingDisabled, client: client, network: network, hidesNetwork: hidesNetwork,
            arrived: arrived, trace: trace)
    }
}

/// The key by which equal upstream questions are coalesced. An object: every step of a flight refers to it.
public final class FlightKey: Sendable {
    /// Lower-cased. The class is always IN.
    public let name: Name
    /// The type that is asked for; nil: A, AAAA, or both.
    public let type: RecordType?
    public let route: Route
    public let dnssecOK: Bool
    public let checkingDisabled: Bool
    /// For which clients it is asked, where a provider of the name is sent their networks; nil: for all.
    public let scope: ClientScope?
    /// The client network whose fair share it counts against: that of the client that began it. Not part of equality.
    public let holder: ClientNetwork
    /// Where its steps are noted; nil: nowhere. Not part of equality.
    let trace: Trace?
    /// The key of its answers in the cache, but for the type.
    private let cacheKey: QueryKey
    /// Of the name, which is long.
    private let nameHash: Int

    /// Whether it asks for signatures, or for a client that validates them.
    var isSigned: Bool { dnssecOK || checkingDisabled }

    /// - Parameter type: of the key of an address family, the other one has the same key.
    public init(
        name: Name, type: RecordType, route: Route, dnssecOK: Bool, checkingDisabled: Bool,
        scope: ClientScope? = nil, holder: ClientNetwork = .daemon, trace: Trace? = nil
    ) {
        self.trace = trace
        self.holder = holder
        self.name = name
        self.type = type.isAddress ? nil : type
        self.route = route
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
        self.scope = scope
        nameHash = name.hashValue
        cacheKey = QueryKey(
            Question(name: name, type: type), dnssecOK: dnssecOK, checkingDisabled: checkingDisabled, scope: scope)
    }

    /// The key of the answer to one of its types in the cache.
    func cacheKey(_ type: RecordType) -> QueryKey {
        var key = cacheKey
        key.type = type
        return key
    }
}

extension FlightKey {
    /// Whether it may cost a call that a client has caused.
    var isBraked: Bool { if case .protect = route { holder != .daemon } else { false } }
}

extension FlightKey: Hashable {
    public static func == (left: FlightKey, right: FlightKey) -> Bool {
        left === right
            || left.name == right.name && left.type == right.type && left.route == right.route
                && left.dnssecOK == right.dnssecOK && left.checkingDisabled == right.checkingDisabled
                && left.scope == right.scope
    }

    /// The remaining fields distinguish only what few names have at the same time.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(nameHash)
        hasher.combine(type)
        if let scope { hasher.combine(scope) }
    }
}

/// The time of one question, counted from the arrival of its query (Documentation/Strategy.md).
public enum Budget {
    /// The client has its response in any case.
    ///
    /// Stub resolvers of the C library give up after 5 s and retry with the next server: this reaches them with a margin.
    public static let answer: Duration = .nanoseconds(Strategy.end)
    /// A source is no longer asked.
    public static let lastStart: Duration = .nanoseconds(Strategy.lastAsk)
}

/// The content of a response to a client.
public struct Response: Sendable {
    public enum Content: Sendable {
        /// A positive or negative answer; its TTLs are sent less `age` seconds.
        case answer(PackedAnswer, age: UInt32)
        /// An answer past its TTL; its TTLs are sent as 30 seconds.
        case stale(PackedAnswer)
        /// A response without records: SERVFAIL, REFUSED, NOTIMP or another RCODE.
        case failure(ResponseCode)
    }

    public let content: Content
    /// Where the answer came from; by this it is counted.
    public private(set) var kind: AnswerKind
    /// The number, among `SourceTags`, of the source of the policy that was asked for it, or made it; nil: there is none, or it
    /// was cached.
    public let source: UInt16?
    /// Why the answer is degraded or missing; sent only to clients whose query had an OPT record (RFC 8914).
    public var extendedError: ExtendedError?

    /// The RCODE of the response.
    public var responseCode: ResponseCode {
        switch content {
        case .answer(let answer, _), .stale(let answer): answer.responseCode
        case .failure(let code): code
        }
    }

    /// The same as an answer that the archive had.
    var recalled: Response {
        var response = self
        if kind == .cache { response.kind = .disk }
        return response
    }

    /// - Parameter kind: of an answer that is not stale. Default: it was synthesized by this server.
    public init(
        _ content: Content, extendedError: ExtendedError? = nil, from kind: AnswerKind = .rule, source: UInt16? = nil
    ) {
        self.content = content
        self.extendedError = extendedError
        self.source = source
        self.kind =
            switch content {
            case .failure(.serverFailure): .failure
            case .failure: .rule
            case .stale: .stale
            case .answer: kind
            }
    }
}

extension Response {
    var isFailure: Bool { if case .failure = content { true } else { false } }

    /// Its records with the TTLs that are sent to a client; nil for a failure.
    func records(for question: Question) -> Answer? {
        switch content {
        case .answer(let answer, let age): answer.unpacked(for: question)?.aged(.fresh(age: age))
        case .stale(let answer): answer.unpacked(for: question)?.aged(.stale)
        case .failure: nil
        }
    }
}

extension Response {
    func traceText(for question: Question) -> String {
        let records = records(for: question)?.traceText(question.type) ?? ""
        let isAlone = records.isEmpty || records == "\(responseCode)"
        let text = isAlone ? "\(responseCode)" : "\(responseCode), \(records)"
        return extendedError.map { "\(text) (\($0.text))" } ?? text
    }
}

extension Answer {
    /// The same with the TTLs that a client gets.
    consuming func aged(_ aging: Reply.Aging) -> Answer { withTTLs { aging.ttl($0) } }

    /// The same with other TTLs.
    fileprivate consuming func withTTLs(_ ttl: (UInt32) -> UInt32) -> Answer {
        for index in answers.indices { answers[index].ttl = ttl(answers[index].ttl) }
        for index in authorities.indices { authorities[index].ttl = ttl(authorities[index].ttl) }
        return self
    }

    /// The same with no TTL above `seconds`.
    public consuming func limited(to seconds: UInt32) -> Answer {
        seconds < .max ? withTTLs { min($0, seconds) } : self
    }
}
