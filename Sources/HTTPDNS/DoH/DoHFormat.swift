package import DNSWire

/// DNS over HTTPS in wire format (RFC 8484): any type but meta-types, one per call.
package struct DoHFormat: ProviderFormat {
    /// The longest URL that is sent, in bytes; for a longer one POST is used.
    package static let maximumURLLength = 2_048
    /// Bytes of the longest `https://host:port`: 8 for the scheme, 253 for the host, 6 for the port with its colon.
    private static let authorityLength = 8 + 253 + 6
    /// Padded queries have a multiple of this number of bytes (RFC 8467 section 4.1).
    package static let paddingBlock = 128
    /// Ignored over HTTP, but the field must have a value.
    private static let payloadSize: UInt16 = 4_096
    private static let mediaType = "application/dns-message"

    private let path: String
    private let padsQueries: Bool

    /// - Parameters:
    ///   - path: begins with a slash; may contain a query, to which `dns` is appended.
    ///   - padsQueries: whether queries are padded so that their length reveals nothing; for https only (RFC 7830
    ///     section 6). The server then pads its responses to 468 bytes.
    package init(path: String = "/dns-query", padsQueries: Bool = false) {
        self.path = path
        self.padsQueries = padsQueries
    }

    package var answersBothFamilies: Bool { false }

    package func answers(_ type: RecordType) -> Bool { !type.isMeta }

    package func request(for question: ProviderQuestion, at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        let query = query(for: try Self.question(question), of: question).encoded
        let target = path + (path.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + "dns=" + TextEncoding.base64URL(query)
        if target.utf8.count + Self.authorityLength <= Self.maximumURLLength {
            return HTTPRequest(target: target, headers: [["Accept", Self.mediaType]])
        }
        return HTTPRequest(
            target: path, headers: [["Accept", Self.mediaType], ["Content-Type", Self.mediaType]], body: query)
    }

    /// The only question of the message.
    private static func question(_ question: ProviderQuestion) throws(UpstreamFailure) -> Question {
        guard let type = question.types.first, question.types.count == 1, !type.isMeta else {
            throw .rejected("one type that exists in zones can be asked for, no other")
        }
        return Question(name: question.name, type: type)
    }

    /// The DNS query, with ID 0 so that HTTP caches can answer it (RFC 8484 section 4.1).
    private func query(for wireQuestion: Question, of question: ProviderQuestion) -> Message {
        var query = Message(flags: .recursionDesired, questions: [wireQuestion])
        if question.checkingDisabled { query.flags.insert(.checkingDisabled) }
        guard question.dnssecOK || padsQueries || question.clientSubnet != nil else { return query }
        query.edns = EDNS(udpPayloadSize: Self.payloadSize, dnssecOK: question.dnssecOK)
        if let subnet = question.clientSubnet { query.edns?.options.append(ClientSubnetOption(subnet).option) }
        if padsQueries {
            let length = query.encoded.count + 4
            let padding = (Self.paddingBlock - length % Self.paddingBlock) % Self.paddingBlock
            query.edns?.options.append(EDNSOption(code: .padding, data: [UInt8](repeating: 0, count: padding)))
        }
        return query
    }

    package func outcome(of response: HTTPResponse, to question: ProviderQuestion) -> ProviderOutcome {
        do {
            let wireQuestion = try Self.question(question)
            let message = try Self.message(in: response, subnet: question.clientSubnet)
            return DoHOutcome.outcome(of: message, to: wireQuestion, dnssecOK: question.dnssecOK, age: response.age)
        } catch {
            return .failure(error)
        }
    }

    private static func message(
        in response: HTTPResponse, subnet: AddressPrefix?
    ) throws(UpstreamFailure) -> Message {
        guard response.isSuccess else { throw DoHOutcome.failure(of: response) }
        guard isDNSMessage(response.contentType) else { throw .unusable("the reply is not \(mediaType)") }
        let message: Message
        do {
            message = try MessageParser.parse(response.body)
        } catch {
            throw .unusable("unreadable reply: \(error)")
        }
        guard message.id == 0 else { throw .unusable("the reply has another ID") }
        guard ClientSubnetOption.isReply(message.edns, to: subnet) else {
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
