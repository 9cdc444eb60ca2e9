public import DNSWire

/// The wire format of one kind of HTTPDNS service: builds requests and interprets responses.
///
/// Both are pure functions: no socket, no clock, no state. `Upstreams.HTTPDNSProvider` transfers the bytes.
public protocol ProviderFormat: Sendable {
    /// Whether one request returns A and AAAA together; by default it does.
    var answersBothFamilies: Bool { get }

    /// Whether the service can be queried for records of this type; by default for A and AAAA.
    func answers(_ type: RecordType) -> Bool

    /// Whether a request can say that the service is not to validate (CD); by default it cannot.
    var takesCheckingDisabled: Bool { get }

    /// The request for `question`.
    ///
    /// - Parameter time: seconds since 1970, corrected by the known offset of the service's clock.
    /// - Throws: when the name cannot be written in the service's format: the service cannot know it.
    func request(for question: UpstreamQuestion, at time: Int64) throws(UpstreamFailure) -> HTTPRequest

    /// A complete response's result for each type queried. Never traps on any bytes.
    func results(in response: HTTPResponse, to question: UpstreamQuestion) throws(UpstreamFailure) -> UpstreamResults
}

extension ProviderFormat {
    public var answersBothFamilies: Bool { true }

    public func answers(_ type: RecordType) -> Bool { type.isAddress }

    public var takesCheckingDisabled: Bool { false }

    /// The outcome for a complete response: its results, or the failure.
    public func outcome(
        of response: HTTPResponse, to question: UpstreamQuestion
    ) -> Result<UpstreamResults, UpstreamFailure> {
        Result { () throws(UpstreamFailure) in try results(in: response, to: question) }
    }
}

extension UpstreamResults {
    /// How many of them are answers with an address: these are what vendors bill.
    public var addressAnswers: Int {
        count { if case .answer(let answer) = $0 { answer.answers.contains { $0.address != nil } } else { false } }
    }

    var hasAnswer: Bool { count { if case .answer = $0 { true } else { false } } > 0 }
}

extension UpstreamQuestion {
    /// The only question of the message, of a known type; for any other, and for several types, throws for this reason.
    func only(where isKnown: (RecordType) -> Bool, else reason: String) throws(UpstreamFailure) -> Question {
        guard let type = types.first, types.count == 1, isKnown(type) else { throw .rejected(reason) }
        return Question(name: name, type: type)
    }
}

/// The address families of a query: IPv4, IPv6, or both.
enum AddressFamilies {
    case v4, v6, both

    /// Throws without types, and for any type but A and AAAA.
    init(_ types: [RecordType]) throws(UpstreamFailure) {
        guard !types.isEmpty, types.allSatisfy(\.isAddress) else {
            throw .rejected("only A and AAAA can be asked for")
        }
        self = !types.contains(.aaaa) ? .v4 : types.contains(.a) ? .both : .v6
    }

    /// The parameter's value in both of Aliyun's interfaces.
    var aliyunText: String {
        switch self {
        case .v4: "4"
        case .v6: "6"
        case .both: "4,6"
        }
    }
}

/// The addresses that a service lists for one name, or for one family of the name.
struct AddressList {
    /// The TTL, in seconds, of addresses without one, with 0, or with a negative one.
    private static let minimumTTL: UInt32 = 60
    /// Up to this number a linear search is faster than hashing.
    private static let few = 8

    /// Of one family, in the service's order, without duplicates.
    private(set) var addresses: [IPAddress] = []
    /// Whether the list holds text and no address of any family: it says nothing about the name.
    private(set) var isUnreadable = false
    /// In seconds, limited to 2^31 - 1; nil if the service gave none above 0.
    private let ttl: UInt32?

    /// Of texts as received: what is no address, or one of another family, is ignored. A TTL of 0 seconds is none.
    init(_ texts: some Sequence<some StringProtocol>, of type: RecordType, ttl: OutsideNumber = 0) {
        self.ttl = ttl > 0 ? ttl.clamped(to: 1...UInt32(Int32.max)) : nil
        var seen: Set<IPAddress> = []
        var (hasText, hasAddress) = (false, false)
        for text in texts {
            hasText = true
            guard let address = IPAddress(text) else { continue }
            hasAddress = true
            guard address.recordType == type else { continue }
            if addresses.count < Self.few {
                if addresses.contains(address) { continue }
            } else {
                if seen.isEmpty { seen = Set(addresses) }
                guard seen.insert(address).inserted else { continue }
            }
            addresses.append(address)
        }
        isUnreadable = hasText && !hasAddress
    }

    /// The list of a reply in JSON, in which what is no string is no address.
    init(_ texts: JSONNode?, of type: RecordType, ttl: OutsideNumber) throws(JSONError) {
        self.init(try (texts?.elements() ?? []).lazy.map { $0.string ?? "" }, of: type, ttl: ttl)
    }

    /// The result for one type of `name`; no addresses are an indeterminate empty response.
    func result(of name: Name) -> UpstreamResult {
        if isUnreadable { return .failure(.unreadable("nothing in its list is an address")) }
        guard !addresses.isEmpty else { return .indeterminateEmpty(ttl: ttl) }
        return .answer(Answer(name: name, addresses: addresses, ttl: ttl ?? Self.minimumTTL))
    }

    /// A negative answer with the service's TTL.
    func negative(_ responseCode: ResponseCode, _ name: Name) -> UpstreamResult {
        .answer(.negative(responseCode, name: name, ttl: ttl ?? Self.minimumTTL))
    }
}

/// The wire format of a scheduling call, which asks a service for the addresses to use: builds requests and interprets
/// responses.
///
/// Pure functions, like `ProviderFormat`. The call is no DNS query and is not billed.
public protocol ScheduleFormat: Sendable {
    /// The request.
    ///
    /// - Parameter time: seconds since 1970, corrected by the known offset of the service's clock.
    /// - Throws: when it cannot be signed here.
    func request(at time: Int64) throws(UpstreamFailure) -> HTTPRequest

    /// The addresses in a complete response; nil where the vendor has disabled the service, which must not be queried any
    /// more then. Never traps on any bytes.
    func schedule(in response: HTTPResponse) throws(UpstreamFailure) -> AddressSchedule?
}

/// The addresses that a service returns for itself, unchecked: the caller decides whether they are acceptable.
public struct AddressSchedule: Hashable, Sendable {
    /// The most addresses that are read from a response.
    static let limit = 64

    /// In the service's order, IPv4 first; at least one. Port 0 is the service's default.
    public var places: [AddressAndPort]
    /// The time after which the call is to be repeated; nil: not given.
    public var lifetime: Duration?

    public init(_ places: [AddressAndPort], lifetime: Duration? = nil) {
        self.places = places
        self.lifetime = lifetime
    }
}
