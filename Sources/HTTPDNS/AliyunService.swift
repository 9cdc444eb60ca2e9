package import DNSWire

/// Aliyun HTTPDNS, the interface for one name: `/{account}/d`, or `/{account}/sign_d` with a secret.
///
/// A and AAAA come in one call and share one TTL. Source: help.aliyun.com/document_detail/52679.html (reply),
/// /56810.html (signature, error codes).
package struct AliyunService: Service {
    /// Seconds from now until a signature expires; the service takes up to 86,400.
    package static let signatureLifetime: Int64 = 600
    /// The TTL, in seconds, of addresses that come with none, with 0, or with a negative one.
    package static let minimumTTL: UInt32 = 60

    private let account: String
    private let secret: Secret?
    private let crypto: any Crypto

    /// - Parameters:
    ///   - account: the account's number, as text.
    ///   - secret: the key that signs requests; nil asks the interface that takes unsigned ones.
    package init(account: String, secret: Secret?, crypto: any Crypto) {
        self.account = account
        self.secret = secret
        self.crypto = crypto
    }

    package var answersBothFamilies: Bool { true }

    package func answers(_ type: RecordType) -> Bool { type.isAddress }

    package func request(for question: ServiceQuestion, at time: Int64) throws(ServiceFailure) -> HTTPRequest {
        guard !question.types.isEmpty, question.types.allSatisfy(answers) else {
            throw .rejected("only A and AAAA can be asked for")
        }
        let host = try HostText.of(question.name)
        let families = (question.types.contains(.a) ? ["4"] : []) + (question.types.contains(.aaaa) ? ["6"] : [])
        let query = "host=\(TextEncoding.percent(host))&query=\(families.joined(separator: ","))"
        let path = "/\(TextEncoding.percent(account))/"
        guard let secret else { return HTTPRequest(target: "\(path)d?\(query)") }
        // Ten digits, whatever the clock says.
        let expiry = min(max(time, 1_000_000_000), 9_999_999_999 - Self.signatureLifetime) + Self.signatureLifetime
        guard let digest = crypto.md5(Array("\(host)-\(secret.value)-\(expiry)".utf8)) else {
            throw .unavailable("no MD5 in this system's libcrypto, and requests are signed with it")
        }
        return HTTPRequest(target: "\(path)sign_d?\(query)&t=\(expiry)&s=\(TextEncoding.hexadecimal(digest))")
    }

    package func outcome(of response: HTTPResponse, to question: ServiceQuestion) -> ServiceOutcome {
        let reply: AliyunReply
        do {
            reply = try AliyunReply(response.body)
        } catch {
            if (200..<300).contains(response.status) { return .failure(.unavailable("unreadable reply: \(error)")) }
            // The status alone tells: a proxy on the way, or the service in trouble.
            return .failure(AliyunError(code: nil, response: response).failure)
        }
        guard (200..<300).contains(response.status), reply.code == nil || reply.host != nil else {
            return .failure(AliyunError(code: reply.code, response: response).failure)
        }
        guard let host = reply.host, HostText.matches(host, question.name) else {
            return .failure(.unavailable("the reply is for another name"))
        }
        return .results(
            Dictionary(question.types.map { ($0, result(reply, for: $0, name: question.name)) }) { first, _ in first })
    }

    private func result(_ reply: AliyunReply, for type: RecordType, name: Name) -> ServiceResult {
        let addresses = reply.addresses(of: type)
        let told = reply.ttl > 0 ? UInt32(min(reply.ttl, Int64(Int32.max))) : nil
        guard !addresses.isEmpty else {
            return .unknownEmpty(ttl: told)
        }
        return .answer(Answer(name: name, addresses: addresses, ttl: told ?? Self.minimumTTL))
    }
}
