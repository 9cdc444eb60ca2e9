import DNSWire

/// Aliyun HTTPDNS, the interface for one name, `/{account}/d`, and for up to five, `/{account}/resolve`; with a secret
/// `sign_d` and `sign_resolve`.
///
/// A and AAAA come in one call; of one name they share one TTL. Source: help.aliyun.com/document_detail/52679.html
/// (reply), /56810.html (signature, error codes), www.alibabacloud.com/help/doc-detail/52680.html (several names).
package struct AliyunService: BatchService {
    package static let maximumNames = 5
    /// Bytes of a request's target beside account and name, mostly.
    private static let usualParameters = 32

    /// What stands before the interface's name in a request.
    private let base: String
    private let secret: Secret?
    private let crypto: any Crypto

    /// - Parameters:
    ///   - account: the account's number, as text.
    ///   - secret: the key that signs requests; nil asks the interface that takes unsigned ones.
    package init(account: String, secret: Secret?, crypto: any Crypto) {
        base = "/\(TextEncoding.percent(account))/"
        self.secret = secret
        self.crypto = crypto
    }

    package func request(for question: ServiceQuestion, at time: Int64) throws(ServiceFailure) -> HTTPRequest {
        try request(
            to: "d", for: try HostText.of(question.name), types: question.types, clientSubnet: question.clientSubnet,
            at: time)
    }

    package func request(for question: BatchQuestion, at time: Int64) throws(ServiceFailure) -> HTTPRequest {
        try request(
            to: "resolve", for: try Self.list(question.names), types: question.types,
            clientSubnet: question.clientSubnet, at: time)
    }

    /// - Parameter host: one name, or several with commas between them: bytes that stand in a URL as they are.
    private func request(
        to path: String, for host: String, types: [RecordType], clientSubnet: AddressPrefix?, at time: Int64
    ) throws(ServiceFailure) -> HTTPRequest {
        // Piece by piece into one text: an interpolation makes room for each anew.
        var target = ""
        target.reserveCapacity(base.utf8.count + host.utf8.count + Self.usualParameters)
        target += base
        if secret != nil { target += "sign_" }
        target += path
        target += "?host="
        target += host
        target += "&query="
        target += try AddressFamilies(types).aliyunText
        // Not signed. The service takes an address: the network's first stands for all in it.
        if let clientSubnet { target += "&ip=\(TextEncoding.percent(clientSubnet.address.description))" }
        guard let secret else { return HTTPRequest(target: target) }
        let expiry = SignatureExpiry.text(at: time)
        guard let digest = crypto.md5(Array("\(host)-\(secret.value)-\(expiry)".utf8)) else {
            throw .unavailable("no MD5 in this system's libcrypto, and requests are signed with it")
        }
        return HTTPRequest(target: "\(target)&t=\(expiry)&s=\(TextEncoding.hexadecimal(digest))")
    }

    package func outcome(of response: HTTPResponse, to question: ServiceQuestion) -> ServiceOutcome {
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
            return .failure(.unavailable("the reply is for another name"))
        }
        var results = ServiceResults()
        for type in question.types { results.add(reply.list(type).result(for: type, of: question.name), for: type) }
        return .results(results)
    }

    package func outcome(of response: HTTPResponse, to question: BatchQuestion) -> BatchOutcome {
        let reply: AliyunBatchReply
        do {
            reply = try AliyunBatchReply(response.body)
        } catch {
            return .failure(AliyunError.unreadable(response, error))
        }
        guard response.isSuccess, let elements = reply.elements else {
            return .failure(AliyunError(code: reply.code, response: response).failure)
        }
        do {
            var results = BatchResults(question.names)
            for element in elements {
                let name = try results.name(element.host)
                for type in question.types where element.type == nil || element.type == type {
                    results.take(element.list.result(for: type, of: name), type, of: name)
                }
            }
            return .results(results.results)
        } catch {
            return .failure(error)
        }
    }
}
