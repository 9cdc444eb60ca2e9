package import DNSWire

/// The wire form of one kind of HTTPDNS service: how to ask it, and what its replies mean.
///
/// A pure pair: no socket, no clock, no state. `Upstreams.HTTPDNSUpstream` carries the bytes.
package protocol Service: Sendable {
    /// Whether one request brings A and AAAA together.
    var answersBothFamilies: Bool { get }

    /// Whether a reply proves by a key of the account's that the service made it, whatever carried it.
    var authenticatesReplies: Bool { get }

    /// Whether the service can be asked for records of this type at all.
    func answers(_ type: RecordType) -> Bool

    /// The request for `question`.
    ///
    /// - Parameter time: seconds since 1970, corrected by what is known of the service's clock.
    /// - Throws: when the name cannot be written in the service's form: the service cannot know it.
    func request(for question: ServiceQuestion, at time: Int64) throws(ServiceFailure) -> HTTPRequest

    /// What a complete reply means. Never traps on any bytes.
    func outcome(of response: HTTPResponse, to question: ServiceQuestion) -> ServiceOutcome
}

extension Service {
    package var authenticatesReplies: Bool { false }
}

/// What a service is asked: one name, one or more types.
package struct ServiceQuestion: Hashable, Sendable {
    /// Lower-cased.
    package var name: Name
    /// A alone, AAAA alone, both for a service that answers both families, or one other type.
    package var types: [RecordType]
    package var dnssecOK: Bool
    package var checkingDisabled: Bool
    /// For which clients' network it is asked, which the service is told; nil: nothing is told.
    package var clientSubnet: AddressPrefix?

    package init(
        name: Name, types: [RecordType], dnssecOK: Bool = false, checkingDisabled: Bool = false,
        clientSubnet: AddressPrefix? = nil
    ) {
        self.name = name
        self.types = types
        self.dnssecOK = dnssecOK
        self.checkingDisabled = checkingDisabled
        self.clientSubnet = clientSubnet
    }
}

/// A request without scheme, host and port, which belong to the address asked.
package struct HTTPRequest: Hashable, Sendable {
    /// Path and query, percent-encoded, beginning with a slash. May hold a signature: never logged.
    package var target: String
    /// Names and values in the order in which they are sent.
    package var headers: [[String]]
    /// Sent with POST; nil means GET.
    package var body: [UInt8]?

    package init(target: String, headers: [[String]] = [], body: [UInt8]? = nil) {
        self.target = target
        self.headers = headers
        self.body = body
    }
}

/// A complete reply: the status, the headers that services use, and the body.
package struct HTTPResponse: Hashable, Sendable {
    package var status: Int
    package var contentType: String?
    /// The `Age` header: seconds that the reply has been in an HTTP cache.
    package var age: UInt32?
    /// The `Retry-After` header, seconds.
    package var retryAfter: UInt32?
    /// The `Date` header, seconds since 1970.
    package var date: Int64?
    /// At most 64 KiB; the transport enforces it.
    package var body: [UInt8]

    package init(
        status: Int, contentType: String? = nil, age: UInt32? = nil, retryAfter: UInt32? = nil, date: Int64? = nil,
        body: [UInt8] = []
    ) {
        self.status = status
        self.contentType = contentType
        self.age = age
        self.retryAfter = retryAfter
        self.date = date
        self.body = body
    }

    /// Whether the status is one of success.
    var isSuccess: Bool { (200..<300).contains(status) }
}

/// What a reply means, for each type that was asked.
package enum ServiceOutcome: Hashable, Sendable {
    case results([RecordType: ServiceResult])
    case failure(ServiceFailure)
}

/// What a service told of one type.
package enum ServiceResult: Hashable, Sendable {
    /// Records, or a told NXDOMAIN or NODATA with its SOA.
    case answer(Answer)
    /// Nothing, and the wire does not tell why: unknown to the service, no such name, or no such record.
    ///
    /// `ttl`: seconds that the service gave for it, if it did.
    case unknownEmpty(ttl: UInt32?)
}

/// Why a service gave no answer, by what should be done next. Texts never hold secrets.
package enum ServiceFailure: Error, Hashable, Sendable {
    /// The next address, then the next service: time-outs, 429, 5xx, bodies that cannot be read.
    case unavailable(String, retryAfter: UInt32? = nil)
    /// The account or signature is refused: put the service aside, do not retry.
    case authentication(String)
    /// Our clock differs from the service's by more than it takes; `serverTime` in seconds since 1970, if it told.
    case clockSkew(String, serverTime: Int64?)
    /// The service refuses this question and would again: the next service, no retry.
    case rejected(String)
    /// The service is well and could not answer this question: SERVFAIL, REFUSED and the like. The next service.
    case responseCode(ResponseCode)
}
