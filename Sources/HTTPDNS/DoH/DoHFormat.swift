public import DNSWire

/// DNS over HTTPS in wire format (RFC 8484): any type but meta-types, one per call.
public struct DoHFormat: ProviderFormat {
    /// The longest URL that is sent, in bytes; for a longer one POST is used.
    public static let maximumURLLength = 2_048
    /// Bytes of the longest `https://host:port`: 8 for the scheme, 253 for the host, 6 for the port with its colon.
    private static let authorityLength = 8 + 253 + 6
    /// Padded queries have a multiple of this number of bytes (RFC 8467 section 4.1).
    public static let paddingBlock = 128
    /// Ignored over HTTP, but the field must have a value.
    private static let payloadSize: UInt16 = 4_096
    private static let mediaType = "application/dns-message"

    private let path: String
    private let padsQueries: Bool

    /// The path begins with a slash; `dns` is appended to its query. Padded, the length of queries reveals nothing; for
    /// https only (RFC 7830 section 6). The server then pads its responses to 468 bytes.
    public init(path: String = "/dns-query", padsQueries: Bool = false) {
        self.path = path
        self.padsQueries = padsQueries
    }

    public var answersBothFamilies: Bool { false }

    public func answers(_ type: RecordType) -> Bool { !type.isMeta }

    public var takesCheckingDisabled: Bool { true }

    public func request(for question: UpstreamQuestion, at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        let query = query(for: try Self.question(question), of: question).encoded
        let target = path + (path.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + "dns=" + TextEncoding.base64URL(query)
        if target.utf8.count + Self.authorityLength <= Self.maximumURLLength {
            return HTTPRequest(target: target, headers: [["Accept", Self.mediaType]])
        }
        return HTTPRequest(
            target: path, headers: [["Accept", Self.mediaType], ["Content-Type", Self.mediaType]], body: query)
    }

    private static func question(_ question: UpstreamQuestion) throws(UpstreamFailure) -> Question {
        try question.only(where: { !$0.isMeta }, else: "one type that exists in zones can be asked for, no other")
    }

    /// The DNS query, with ID 0 so that HTTP caches can answer it (RFC 8484 section 4.1).
    private func query(for wireQuestion: Question, of question: UpstreamQuestion) -> Message {
        var query = Message(flags: .recursionDesired, questions: [wireQuestion])
        if question.checkingDisabled { query.flags.insert(.checkingDisabled) }
        guard question.dnssecOK || padsQueries || question.clientNetwork != nil else { return query }
        query.edns = EDNS(udpPayloadSize: Self.payloadSize, dnssecOK: question.dnssecOK)
        if let subnet = question.clientNetwork { query.edns?.options.append(subnet.clientSubnet) }
        if padsQueries {
            let length = query.encoded.count + 4
            let padding = (Self.paddingBlock - length % Self.paddingBlock) % Self.paddingBlock
            query.edns?.options.append(EDNSOption(code: .padding, data: [UInt8](repeating: 0, count: padding)))
        }
        return query
    }

    public func results(
        in response: HTTPResponse, to question: UpstreamQuestion
    ) throws(UpstreamFailure) -> UpstreamResults {
        let wireQuestion = try Self.question(question)
        let message = try Self.message(in: response, subnet: question.clientNetwork)
        return try message.results(to: wireQuestion, dnssecOK: question.dnssecOK, age: response.age)
    }

    private static func message(in response: HTTPResponse, subnet: AddressPrefix?) throws(UpstreamFailure) -> Message {
        guard response.isSuccess else { throw response.dohFailure() }
        guard isDNSMessage(response.contentType) else { throw .unusable("the reply is not \(mediaType)") }
        let message: Message
        do {
            message = try MessageParser.parse(response.body)
        } catch {
            throw .unreadable(error)
        }
        guard message.id == 0 else { throw .unusable("the reply has another ID") }
        guard subnet?.isAnswered(by: message.edns) != false else {
            throw .unusable("the reply is for another network of clients")
        }
        return message
    }

    /// Whether a `Content-Type` header names DNS messages; its parameters are ignored.
    private static func isDNSMessage(_ contentType: String?) -> Bool {
        let type = contentType?.split(separator: ";", omittingEmptySubsequences: false).first ?? ""
        return type.filter { $0 != " " && $0 != "\t" }.lowercased() == mediaType
    }
}

// The response of a DoH server, in wire format or in JSON.

extension Message {
    /// The results of a message that came with a 2xx status, and has been in an HTTP cache for `age` seconds.
    func results(to question: Question, dnssecOK: Bool, age: UInt32?) throws(UpstreamFailure) -> UpstreamResults {
        switch ReceivedReply(self, to: question, dnssecOK: dnssecOK) {
        case .answer(let answer):
            // Aliyun returns an empty response without an SOA for names that the account does not list. An alias is a record:
            // its name is known.
            let hasSOA = answer.authorities.contains { $0.type == .soa }
            if answer.responseCode == .noError, answer.answers.isEmpty, !hasSOA {
                return [question.type: .indeterminateEmpty(ttl: nil)]
            }
            return [question.type: .answer(answer.aged(by: age ?? 0))]
        case .failure(let code): throw .responseCode(code)
        case .endlessAliases: throw .rejected("the name's chain of aliases has no end")
        case .truncated: throw .unusable("the reply is truncated")
        case .mismatch: throw .unusable("no reply to this question")
        }
    }
}

extension HTTPResponse {
    /// The failure of a status other than 2xx; without a text it is named by the status.
    func dohFailure(_ text: String? = nil) -> UpstreamFailure {
        switch status {
        // Bad request, content or URI too long: the same query would fail at another address too.
        case 400, 413, 414: .refused(text ?? "HTTP \(status)")
        default: failure(text)
        }
    }
}

extension Answer {
    /// The same answer after `age` seconds in another cache (RFC 8484 section 5.1): every TTL is reduced by that, to no
    /// less than 0.
    public func aged(by age: UInt32) -> Answer {
        var answer = self
        for index in answer.answers.indices { answer.answers[index].age(by: age) }
        for index in answer.authorities.indices { answer.authorities[index].age(by: age) }
        for index in answer.additionals.indices { answer.additionals[index].age(by: age) }
        return answer
    }
}

extension Record {
    fileprivate mutating func age(by age: UInt32) { ttl -= min(ttl, age) }
}

// The client-subnet option of an OPT record (RFC 7871 section 6).

extension AddressPrefix {
    /// FAMILY, SOURCE PREFIX-LENGTH, SCOPE PREFIX-LENGTH 0, and the bytes of ADDRESS that the prefix covers.
    fileprivate var clientSubnet: EDNSOption {
        // FAMILY has the numbers of IANA's address families.
        let head = [0, address.recordType == .a ? 1 : 2, UInt8(truncatingIfNeeded: length), 0]
        return EDNSOption(code: .clientSubnet, data: head + address.bytes.prefix((length + 7) / 8))
    }

    /// Whether a response belongs to a query with this network: one with another network must not be used (RFC 7871
    /// section 7.3); one without the option is valid for all networks.
    fileprivate func isAnswered(by edns: EDNS?) -> Bool {
        guard var data = edns?.options.first(where: { $0.code == .clientSubnet })?.data else { return true }
        // The scope is the server's own.
        if data.count > 3 { data[3] = 0 }
        return data == clientSubnet.data
    }
}
