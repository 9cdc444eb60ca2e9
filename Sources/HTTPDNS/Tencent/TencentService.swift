package import DNSWire

/// Tencent Cloud's HTTPDNS (DNSPod): `/d`, encrypted with DES or AES, or with a token over https.
///
/// A and AAAA come in one call, each with its own TTL. Source: cloud.tencent.com/document/product/379/54976 (HTTP),
/// tencentcloud.com/document/product/1130/44469 (HTTPS), cloud.tencent.com/document/product/379/3530 (encryption), and
/// the vendor's SDKs, whose parameters these are.
package struct TencentService: Service {
    /// What the account is shown by.
    package enum Access: Sendable {
        /// The first 8 bytes of the key's text are the key.
        case des(id: String, key: Secret)
        /// The 16 bytes of the key's text are the key.
        case aes(id: String, key: Secret)
        /// Nothing is encrypted: for https.
        ///
        /// - Parameter id: empty sends none.
        case token(Secret, id: String)

        /// How questions and replies are encrypted; nil: not at all.
        func box(_ crypto: any Crypto) -> PayloadBox? {
            switch self {
            case .des(_, let key): PayloadBox(cipher: .desECB, key: key, keyForm: .text, crypto: crypto)
            case .aes(_, let key): PayloadBox(cipher: .aes128CBC, key: key, keyForm: .text, crypto: crypto)
            case .token: nil
            }
        }
    }

    private let access: Access
    private let encryptsClient: Bool
    private let crypto: any Crypto

    /// - Parameter encryptsClient: whether a client's address is encrypted where the name is: the vendor's page demands
    ///   it, its SDKs send it as it is.
    package init(_ access: Access, encryptsClient: Bool = true, crypto: any Crypto) {
        self.access = access
        self.encryptsClient = encryptsClient
        self.crypto = crypto
    }

    private var box: PayloadBox? { access.box(crypto) }

    package var answersBothFamilies: Bool { true }

    package func answers(_ type: RecordType) -> Bool { type.isAddress }

    package func request(for question: ServiceQuestion, at time: Int64) throws(ServiceFailure) -> HTTPRequest {
        let host = try HostText.of(question.name)
        var target = "/d?dn=\(try sealed(host) ?? host)"
        switch access {
        case .des(let id, _): target += "&id=\(TextEncoding.percent(id))&alg=des"
        case .aes(let id, _): target += "&id=\(TextEncoding.percent(id))&alg=aes"
        case .token(let token, let id):
            target += "&token=\(TextEncoding.percent(token.value))"
            if !id.isEmpty { target += "&id=\(TextEncoding.percent(id))" }
        }
        // The client's address ends the reply, which shows that it is whole. Both SDKs ask for it too.
        target += "&ttl=1&clientip=1&query=1"
        if let client = question.clientSubnet?.address.description {
            // The service takes an address: the network's first stands for all in it.
            target += "&ip=\(encryptsClient ? try sealed(client) ?? client : client)"
        }
        switch try AddressFamilies(question.types) {
        case .v4: break
        case .v6: target += "&type=aaaa"
        case .both: target += "&type=addrs"
        }
        return HTTPRequest(target: target)
    }

    /// As the service takes what is encrypted; nil where nothing is.
    private func sealed(_ text: String) throws(ServiceFailure) -> String? {
        guard let box else { return nil }
        return TextEncoding.hexadecimal(try box.seal(Array(text.utf8)))
    }

    package func outcome(of response: HTTPResponse, to question: ServiceQuestion) -> ServiceOutcome {
        guard response.isSuccess else { return .failure(HTTPStatusFailure.failure(of: response)) }
        let body = TencentReply.trimmed(response.body[...])
        do {
            // An empty body is not encrypted either: the service has nothing for the name.
            guard let box, !body.isEmpty else { return .results(try TencentReply.results(body, question)) }
            let text = try box.open(TextDecoding.hexadecimal(String(decoding: body, as: UTF8.self)))
            return .results(try TencentReply.results(TencentReply.trimmed(text[...]), question))
        } catch {
            return .failure(error)
        }
    }
}
