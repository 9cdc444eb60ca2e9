package import DNSWire

/// DNS over HTTPS with responses in JSON, the format of Google, Cloudflare, AliDNS and DNSPod: A and AAAA, one per
/// call.
///
/// All four accept the same form of request; their responses differ, see `DoHJSONReply`. Sources:
/// developers.google.com/speed/public-dns/docs/doh/json,
/// developers.cloudflare.com/1.1.1.1/encryption/dns-over-https/make-api-requests/dns-json,
/// www.alibabacloud.com/help/en/dns/httpdns-doh-json-api; DNSPod has no page of its own.
package struct DoHJSONFormat: ProviderFormat {
    /// Required by Cloudflare; the others ignore it.
    private static let mediaType = "application/dns-json"

    private let path: String
    private let account: AliDNSAccount?

    /// - Parameters:
    ///   - path: begins with a slash.
    ///   - account: signs every request; nil sends none of AliDNS's own parameters.
    package init(path: String = "/resolve", account: AliDNSAccount? = nil) {
        self.path = path
        self.account = account
    }

    package var answersBothFamilies: Bool { false }

    package func answers(_ type: RecordType) -> Bool { type.isAddress }

    package func request(for question: ProviderQuestion, at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        let type = try Self.question(question).type
        let host = try HostText.of(question.name)
        var target = "\(path)?name=\(TextEncoding.percent(host))&type=\(type)"
        if question.checkingDisabled { target += "&cd=1" }
        if let subnet = question.clientSubnet {
            target += "&edns_client_subnet=\(TextEncoding.percent(subnet.description))"
        }
        if let account { target += try account.parameters(for: host, at: time) }
        return HTTPRequest(target: target, headers: [["Accept", Self.mediaType]])
    }

    /// The only question of the query.
    private static func question(_ question: ProviderQuestion) throws(UpstreamFailure) -> Question {
        guard let type = question.types.first, question.types.count == 1, type.isAddress else {
            throw .rejected("A or AAAA can be asked for, one at a time")
        }
        return Question(name: question.name, type: type)
    }

    package func outcome(of response: HTTPResponse, to question: ProviderQuestion) -> ProviderOutcome {
        do {
            let wireQuestion = try Self.question(question)
            return DoHOutcome.outcome(
                of: try message(in: response), to: wireQuestion, dnssecOK: question.dnssecOK, age: response.age)
        } catch {
            return .failure(error)
        }
    }

    private func message(in response: HTTPResponse) throws(UpstreamFailure) -> Message {
        let reply: DoHJSONReply
        do {
            reply = try DoHJSONReply(response.body)
        } catch {
            // Only the status is used: it may come from a proxy on the path, or from a service in trouble.
            guard response.isSuccess else { throw failure(of: response, code: nil) }
            throw .unusable("unreadable reply: \(error)")
        }
        guard response.isSuccess else { throw failure(of: response, code: reply.code) }
        if let message = reply.message { return message }
        guard reply.code == nil else { throw refusal(of: response, code: reply.code) }
        throw .unusable("the reply has no Status that means anything")
    }

    private func failure(of response: HTTPResponse, code: String?) -> UpstreamFailure {
        switch response.status {
        case 401, 403: refusal(of: response, code: code)
        default: DoHOutcome.failure(of: response, text: HTTPStatusFailure.text(of: response, code: code))
        }
    }

    /// AliDNS does not document which of its codes mean the timestamp. So every refusal of a signed request counts as
    /// clock skew: our clock is compared with the service's, and only if it was wrong is there a second attempt.
    private func refusal(of response: HTTPResponse, code: String?) -> UpstreamFailure {
        let text = HTTPStatusFailure.text(of: response, code: code)
        return account == nil ? .authentication(text) : .clockSkew(text, serverTime: response.date)
    }
}
