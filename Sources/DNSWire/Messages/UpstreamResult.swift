/// A question to an upstream: a provider, LocalDNS, or the servers of a `forward` entry.
public struct UpstreamQuestion: Hashable, Sendable {
    /// Lower-cased.
    public var name: Name
    /// One type, or A and AAAA together.
    public var types: [RecordType]
    public var dnssecOK: Bool
    public var checkingDisabled: Bool
    /// The network of the clients for which it is asked, which may be sent to a service; nil: none.
    public var clientNetwork: AddressPrefix?
    /// The client network whose fair share it counts against.
    public var holder: ClientNetwork
    /// When the caller stops waiting.
    public var deadline: Instant

    /// - Parameter deadline: by default there is none.
    public init(
        name: Name, types: [RecordType], dnssecOK: Bool = false, checkingDisabled: Bool = false,
        clientNetwork: AddressPrefix? = nil, holder: ClientNetwork = .daemon,
        deadline: Instant = Instant(nanoseconds: .max)
    ) {
        self.name = name
        self.types = types
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
        self.clientNetwork = clientNetwork
        self.holder = holder
        self.deadline = deadline
    }
}

/// The result of asking an upstream for one type.
public enum UpstreamResult: Hashable, Sendable {
    /// Records, or an NXDOMAIN or NODATA response. Indirect, since it is passed on many times.
    indirect case answer(Answer)
    /// An indeterminate empty response: without a reason, such as a name unknown to the service, NXDOMAIN or NODATA. The
    /// next source is asked. `ttl`: seconds that the service gave for it, if any.
    case indeterminateEmpty(ttl: UInt32?)
    case failure(UpstreamFailure)
}

/// A result for each type of a question: one type, or A and AAAA. It needs no heap storage.
public struct UpstreamResults: Sendable {
    /// The type that is not AAAA.
    private var firstType = RecordType.a
    private var first: UpstreamResult?
    private var aaaa: UpstreamResult?

    public init() {}

    /// Nil for a type without a result. Beside AAAA one other type has a place: the last that is set.
    public subscript(type: RecordType) -> UpstreamResult? {
        get { type == .aaaa ? aaaa : type == firstType ? first : nil }
        set { if type == .aaaa { aaaa = newValue } else { (firstType, first) = (type, newValue) } }
    }

    /// Adds the result for a type; of several for one type the first is used.
    public mutating func add(_ result: UpstreamResult, for type: RecordType) {
        if self[type] == nil { self[type] = result }
    }

    public var isEmpty: Bool { first == nil && aaaa == nil }

    /// How many of the results are wanted.
    public func count(where isWanted: (UpstreamResult) -> Bool) -> Int {
        (first.map(isWanted) == true ? 1 : 0) + (aaaa.map(isWanted) == true ? 1 : 0)
    }
}

extension UpstreamResults: Sequence, IteratorProtocol {
    public mutating func next() -> (type: RecordType, result: UpstreamResult)? {
        if let result = first.take() { return (firstType, result) }
        return aaaa.take().map { (.aaaa, $0) }
    }
}

extension UpstreamResults: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (RecordType, UpstreamResult)...) {
        for (type, result) in elements { add(result, for: type) }
    }
}

extension UpstreamResults: Equatable {
    public static func == (left: UpstreamResults, right: UpstreamResults) -> Bool {
        left.elementsEqual(right, by: ==)
    }
}

/// Why an upstream gave no answer: the one vocabulary of the HTTP client, the providers' formats, LocalDNS and the resolver.
///
/// Texts are for logs and for clients (extended errors): without secrets, without anything of the request, and without the
/// addresses of LocalDNS servers, which stay on this host.
public enum UpstreamFailure: Error, Hashable, Sendable {
    /// No response in time. Over HTTP: nor to any other request since this one was dispatched.
    case timeout
    /// No response in time, but other questions are answered there meanwhile: asking the same again would change
    /// nothing.
    case slow
    /// It has no server that can be asked.
    case noServer(String)
    /// No connection, or the connection was lost.
    case network(String)
    /// The upstream responded, but not with DNS: HTTP 4xx and 5xx, malformed data, more than the limit.
    case unusable(String)
    /// No certificate there is valid for one of the names, or none has a pinned key; nothing was sent.
    case certificate(String)
    /// It said when to retry (`Retry-After`).
    case busy(String, retryAfter: Duration)
    /// Its addresses were detected as forged.
    case forged(String)
    /// It answered SERVFAIL, REFUSED or another failure code.
    case responseCode(ResponseCode)
    /// Account, signature or token refused: the whole provider is put in backoff.
    case authentication(String)
    /// The same, since our clock differs from the service's by more than it accepts. `serverTime`: the service's time, in
    /// seconds since 1970, if it sent that. The request is signed and sent once more if that corrects our clock.
    case clockSkew(String, serverTime: Int64?)
    /// It refuses this question and would again (HTTP 400 and the like), because of its name or as it refuses all: none of its
    /// other addresses is asked.
    case refused(String)
    /// The question cannot be sent to it, or its answer cannot be used: that would be so at its other addresses too.
    case rejected(String)
    /// A limit of this server is reached: nothing was sent.
    case overloaded(String)
    /// The caller gave up, or did not permit the request.
    case cancelled
}

extension UpstreamFailure: CustomStringConvertible {
    /// For users: what failed, without the name asked for.
    public var description: String {
        switch self {
        case .timeout: "no answer in time"
        case .slow: "no answer in time to this question"
        case .noServer(let text), .network(let text), .unusable(let text), .certificate(let text), .forged(let text),
            .refused(let text), .rejected(let text), .overloaded(let text), .busy(let text, _):
            text
        case .responseCode(let code): "answered \(code)"
        case .authentication(let text), .clockSkew(let text, _): "access refused: \(text)"
        case .cancelled: "given up"
        }
    }
}

extension UpstreamFailure {
    /// Whether the account is refused, at every address of the service.
    public var isAccessRefused: Bool {
        switch self {
        case .authentication, .clockSkew: true
        default: false
        }
    }
}
