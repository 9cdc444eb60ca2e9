package import DNSWire

/// Aliyun HTTPDNS, the interface for one name: `/{account}/d`, or with a secret `/{account}/sign_d`.
///
/// A and AAAA come in one call and share one TTL. Source: help.aliyun.com/document_detail/52679.html (response),
/// /56810.html (signature, error codes).
package struct AliyunFormat: ProviderFormat {
    /// The usual bytes of a request's target apart from account and name.
    private static let usualParameters = 32

    /// The part of a request's target before the interface's name.
    private let base: String
    private let secret: Secret?
    private let crypto: any Crypto

    /// - Parameters:
    ///   - account: the account's number, as text.
    ///   - secret: the key that signs requests; nil: the interface for unsigned requests is used.
    package init(account: String, secret: Secret?, crypto: any Crypto) {
        base = "/\(TextEncoding.percent(account))/"
        self.secret = secret
        self.crypto = crypto
    }

    package var answersBothFamilies: Bool { true }

    package func answers(_ type: RecordType) -> Bool { type.isAddress }

    package func request(for question: ProviderQuestion, at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        let host = try HostText.of(question.name)
        // Appended to one text: each interpolation would allocate.
        var target = ""
        target.reserveCapacity(base.utf8.count + host.utf8.count + Self.usualParameters)
        target += base
        target += secret == nil ? "d?host=" : "sign_d?host="
        target += host
        target += "&query="
        target += try AddressFamilies(question.types).aliyunText
        // Not signed. The service takes an address: the first one of the network is sent.
        if let client = question.clientSubnet?.address.description { target += "&ip=\(TextEncoding.percent(client))" }
        guard let secret else { return HTTPRequest(target: target) }
        let expiry = SignatureExpiry.text(at: time)
        guard let digest = crypto.md5(Array("\(host)-\(secret.value)-\(expiry)".utf8)) else {
            throw .unusable("no MD5 in this system's libcrypto, and requests are signed with it")
        }
        return HTTPRequest(target: "\(target)&t=\(expiry)&s=\(TextEncoding.hexadecimal(digest))")
    }

    package func outcome(of response: HTTPResponse, to question: ProviderQuestion) -> ProviderOutcome {
        let reply: AliyunReply
        do {
            reply = try AliyunReply(response.body)
        } catch {
            return .failure(AliyunError.unreadable(response, error))
        }
        guard response.isSuccess, reply.code == nil || reply.host != nil else {
            return .failure(AliyunError(code: reply.code, response: response).failure)
        }
        guard let host = reply.host, HostText.matches(host, question.name) else {
            return .failure(.unusable("the reply is for another name"))
        }
        var results = ProviderResults()
        for type in question.types { results.add(reply.list(type).result(for: type, of: question.name), for: type) }
        return .results(results)
    }
}

/// The account parameters of AliDNS's JSON interface of DoH.
///
/// Source: www.alibabacloud.com/help/en/dns/httpdns-doh-json-api. The page says only that `key` is a hash made with the
/// secret; the formula is that of public clients.
package struct AliDNSAccount: Sendable {
    private let id: String
    private let accessKeyID: String
    private let secret: Secret
    private let crypto: any Crypto

    /// - Parameters:
    ///   - id: the account ID of the DNS console, not that of the cloud account.
    ///   - accessKeyID: the AccessKey ID of the same console.
    ///   - secret: the AccessKey secret of that ID.
    package init(id: String, accessKeyID: String, secret: Secret, crypto: any Crypto) {
        self.id = id
        self.accessKeyID = accessKeyID
        self.secret = secret
        self.crypto = crypto
    }

    /// The parameters that sign a query for `host`, beginning with `&`.
    ///
    /// - Parameters:
    ///   - host: as it is sent, before percent-encoding.
    ///   - time: seconds since 1970.
    func parameters(for host: String, at time: Int64) throws(UpstreamFailure) -> String {
        let time = max(time, 0)
        guard let digest = crypto.sha256(Array("\(id)\(secret.value)\(time)\(host)\(accessKeyID)".utf8)) else {
            throw .unusable("no SHA-256 in this system's libcrypto, and requests are signed with it")
        }
        return "&uid=\(TextEncoding.percent(id))&ak=\(TextEncoding.percent(accessKeyID))&ts=\(time)"
            + "&key=\(TextEncoding.hexadecimal(digest))"
    }
}
