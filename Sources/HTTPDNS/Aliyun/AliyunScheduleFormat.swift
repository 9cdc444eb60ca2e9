package import DNSWire

/// Aliyun's scheduling call, `/{account}/ss`, signed if there is a secret.
///
/// Source: help.aliyun.com/document_detail/111585.html, /2868209.html, and the vendor's SDKs, from which the format of
/// the response is known.
package struct AliyunScheduleFormat: ScheduleFormat {
    /// Seconds from the service's time to the signature's: one page calls that the service's time, within 150 s,
    /// another an expiry 30 to 300 s ahead.
    private static let lead: Int64 = 60
    /// Bytes of the nonce, which is sent in hexadecimal digits.
    private static let nonceLength = 6

    private let path: String
    private let secret: Secret?
    private let crypto: any Crypto

    /// - Parameters:
    ///   - account: the account's number, as text.
    ///   - region: the service's name of the region, such as `cn`.
    ///   - secret: the key that signs requests; nil: they are not signed.
    package init(account: String, region: String, secret: Secret?, crypto: any Crypto) {
        path = "/\(TextEncoding.percent(account))/ss?region=\(TextEncoding.percent(region))"
        self.secret = secret
        self.crypto = crypto
    }

    package func request(at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        guard let secret else { return HTTPRequest(target: path) }
        let text = SignatureExpiry.text(at: time, lifetime: Self.lead)
        guard let nonce = crypto.randomBytes(Self.nonceLength).map(TextEncoding.hexadecimal) else {
            throw .unusable("no random bytes from this system's libcrypto, and requests are signed with some")
        }
        let signature = try crypto.md5Digits("\(nonce)-\(secret.value)-\(text)")
        return HTTPRequest(target: "\(path)&n=\(nonce)&t=\(text)&s=\(signature)")
    }

    package func outcome(of response: HTTPResponse) -> ScheduleOutcome {
        do throws(UpstreamFailure) {
            let reply = try response.json(or: response.failure()) { json throws(JSONError) in
                try AliyunScheduleReply(json)
            }
            guard response.isSuccess else { throw response.aliyunFailure(code: reply.code) }
            if reply.isDisabled { return .disabled }
            guard !reply.places.isEmpty else {
                throw reply.code == nil
                    ? .unusable("the reply names no address") : response.aliyunFailure(code: reply.code)
            }
            return .addresses(AddressSchedule(reply.places))
        } catch {
            return .failure(error)
        }
    }
}

/// The body of a response, or of an error.
private struct AliyunScheduleReply {
    /// The valid addresses with their ports, without duplicates.
    private(set) var places: [AddressSchedule.Place] = []
    let isDisabled: Bool
    let code: String?

    init(_ json: JSONNode) throws(JSONError) {
        isDisabled = json["service_status"]?.string == "disable"
        code = json["code"]?.string
        for (key, type) in [("service_ip", RecordType.a), ("service_ipv6", .aaaa)] {
            // Parallel to the addresses.
            let ports = try json[key + "_port"]?.elements() ?? []
            for (index, text) in try (json[key]?.elements() ?? []).enumerated() {
                guard let address = text.string.flatMap({ IPAddress($0) }), address.recordType == type else { continue }
                var place = AddressSchedule.Place(address)
                if index < ports.count, case .number(let stated) = ports[index].content {
                    guard let port = stated.within(1...UInt16.max) else { continue }
                    place.port = port
                }
                if places.count < AddressSchedule.limit, !places.contains(place) { places.append(place) }
            }
        }
    }
}
