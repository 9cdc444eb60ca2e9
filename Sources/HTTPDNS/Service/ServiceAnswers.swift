import DNSWire

/// The responses to the questions of one call.
struct ServiceAnswers {
    private let all: [(question: Question, message: Message?)]

    init(_ questions: [Question], _ messages: [Message?]) {
        all = zip(questions, messages).map { ($0, $1) }
    }

    /// Whether nothing was asked that the account may ask.
    var isEmpty: Bool { all.isEmpty }

    /// The first response, for a form with one question.
    var only: Message? { all.first?.message }

    /// The addresses of one family; nil when it could not be resolved. What was not asked, since the account may not, is as
    /// empty as a name that the vendor does not know.
    func addresses(of host: ServiceHost, _ type: RecordType) -> ServiceAddresses? {
        guard let asked = all.first(where: { $0.question.type == type && $0.question.name == host.name }) else {
            return .unknownName
        }
        return asked.message.flatMap { ServiceAddresses($0, type) }
    }
}

/// The addresses of one name and family, or why there are none.
struct ServiceAddresses {
    /// The TTL, in seconds, of a name that the account may not ask for: the vendor's for names that it does not know.
    private static let unknownTTL: UInt32 = 300
    /// The TTL, in seconds, of a negative answer without SOA record.
    private static let negativeTTL: UInt32 = 60

    let addresses: [IPAddress]
    /// In seconds, at least 1: clients take 0 for none, and use one of their own.
    let ttl: UInt32
    /// Why there are no addresses: NOERROR where the name has none of this family, NXDOMAIN where it does not exist; nil when
    /// that is not said, or there are addresses.
    let denial: ResponseCode?

    static let unknownName = ServiceAddresses([], unknownTTL, nil)

    private init(_ addresses: [IPAddress], _ ttl: UInt32, _ denial: ResponseCode?) {
        (self.addresses, self.ttl, self.denial) = (addresses, max(ttl, 1), denial)
    }

    /// Nil for a response that is neither an answer nor a negative answer.
    init?(_ message: Message, _ type: RecordType) {
        let addresses = message.answers.filter { $0.type == type }.compactMap(\.address)
        switch message.responseCode {
        case .noError where !addresses.isEmpty:
            // A chain of aliases lives as long as its shortest link.
            self.init(addresses, message.answers.map(\.ttl).min() ?? 0, nil)
        case .noError, .nameError: self.init([], Self.negativeTTL(message), message.responseCode)
        default: return nil
        }
    }

    /// RFC 2308 section 5.
    private static func negativeTTL(_ message: Message) -> UInt32 {
        let soa = message.authorities.first { $0.type == .soa }
        return soa.map { min($0.ttl, $0.soaMinimum ?? $0.ttl) } ?? negativeTTL
    }

    var texts: [String] { addresses.map(\.description) }
}

/// A name of a call, as it was sent.
struct ServiceHost: Sendable {
    let text: String
    let name: Name

    /// Nil for text that is no host name.
    init?(_ text: some StringProtocol) {
        guard let name = try? Name(text), (try? name.hostText()) != nil else { return nil }
        self.text = String(text)
        self.name = name
    }
}

extension [ServiceHost] {
    /// A question for each name and type.
    func questions(_ types: [RecordType]) -> [Question] {
        flatMap { host in types.map { Question(name: host.name, type: $0) } }
    }
}
