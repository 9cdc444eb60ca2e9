package import DNSWire

/// Tencent Cloud's HTTPDNS (DNSPod): `/d`, encrypted with DES or AES, or with a token over https.
///
/// A and AAAA come in one call, each with its own TTL. Source: cloud.tencent.com/document/product/379/54976 (HTTP),
/// tencentcloud.com/document/product/1130/44469 (HTTPS), cloud.tencent.com/document/product/379/3530 (encryption), and
/// the vendor's SDKs, which use the same parameters.
package struct TencentFormat: ProviderFormat {
    /// The account's credentials.
    package enum Access: Sendable {
        /// The key is the first 8 bytes of the key's text.
        case des(id: String, key: Secret)
        /// The key is the 16 bytes of the key's text.
        case aes(id: String, key: Secret)
        /// No encryption: for https.
        ///
        /// - Parameter id: empty: not sent.
        case token(Secret, id: String)

        /// The encryption of queries and responses; nil: none.
        func box(_ crypto: any Crypto) -> PayloadBox? {
            switch self {
            case .des(_, let key): PayloadBox(cipher: .desECB, key: key, keyForm: .text, crypto: crypto)
            case .aes(_, let key): PayloadBox(cipher: .aes128CBC, key: key, keyForm: .text, crypto: crypto)
            case .token: nil
            }
        }
    }

    private let access: Access
    private let crypto: any Crypto

    package init(_ access: Access, crypto: any Crypto) {
        self.access = access
        self.crypto = crypto
    }

    private var box: PayloadBox? { access.box(crypto) }

    package var answersBothFamilies: Bool { true }

    package func answers(_ type: RecordType) -> Bool { type.isAddress }

    package func request(for question: ProviderQuestion, at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        let host = try HostText.of(question.name)
        var target = "/d?dn=\(try sealed(host) ?? host)"
        switch access {
        case .des(let id, _): target += "&id=\(TextEncoding.percent(id))&alg=des"
        case .aes(let id, _): target += "&id=\(TextEncoding.percent(id))&alg=aes"
        case .token(let token, let id):
            target += "&token=\(TextEncoding.percent(token.value))"
            if !id.isEmpty { target += "&id=\(TextEncoding.percent(id))" }
        }
        // The client's address at the end of the response shows that it is complete. Both SDKs request it too.
        target += "&ttl=1&clientip=1&query=1"
        if let client = question.clientSubnet?.address.description {
            // The service takes an address: the first one of the network is sent, encrypted like the name. So the vendor's
            // documentation demands it; its SDKs send it as it is.
            target += "&ip=\(try sealed(client) ?? client)"
        }
        switch try AddressFamilies(question.types) {
        case .v4: break
        case .v6: target += "&type=aaaa"
        case .both: target += "&type=addrs"
        }
        return HTTPRequest(target: target)
    }

    /// Encrypts a parameter, in hexadecimal digits; nil without encryption.
    private func sealed(_ text: String) throws(UpstreamFailure) -> String? {
        guard let box else { return nil }
        return TextEncoding.hexadecimal(try box.seal(Array(text.utf8)))
    }

    package func outcome(of response: HTTPResponse, to question: ProviderQuestion) -> ProviderOutcome {
        guard response.isSuccess else { return .failure(HTTPStatusFailure.failure(of: response)) }
        let body = TencentReply.trimmed(response.body[...])
        do {
            // An empty body is not encrypted: the service has nothing for the name.
            guard let box, !body.isEmpty else { return .results(try TencentReply.results(body, question)) }
            let text = try box.open(TextDecoding.hexadecimal(String(decoding: body, as: UTF8.self)))
            return .results(try TencentReply.results(TencentReply.trimmed(text[...]), question))
        } catch {
            return .failure(error)
        }
    }
}
