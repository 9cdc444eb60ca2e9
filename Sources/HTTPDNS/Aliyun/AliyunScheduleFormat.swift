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
        guard let nonce = crypto.randomBytes(Self.nonceLength).map(TextEncoding.hexadecimal),
            let digest = crypto.md5(Array("\(nonce)-\(secret.value)-\(text)".utf8))
        else { throw .unusable("no MD5 in this system's libcrypto, and requests are signed with it") }
        return HTTPRequest(target: "\(path)&n=\(nonce)&t=\(text)&s=\(TextEncoding.hexadecimal(digest))")
    }

    package func outcome(of response: HTTPResponse) -> ScheduleOutcome {
        let reply: AliyunScheduleReply
        do {
            reply = try AliyunScheduleReply(response.body)
        } catch {
            return .failure(AliyunError.unreadable(response, error))
        }
        guard response.isSuccess else { return .failure(AliyunError(code: reply.code, response: response).failure) }
        if reply.isDisabled { return .disabled }
        let places = reply.places
        guard !places.isEmpty else {
            return .failure(
                reply.code == nil
                    ? .unusable("the reply names no address")
                    : AliyunError(code: reply.code, response: response).failure)
        }
        return .addresses(AddressSchedule(places))
    }
}

/// The body of a response, or of an error.
private struct AliyunScheduleReply {
    private var ips: [String] = []
    private var ipsv6: [String] = []
    /// Parallel to `ips`; nil for anything but a number.
    private var ports: [OutsideNumber?] = []
    private var portsv6: [OutsideNumber?] = []
    private(set) var isDisabled = false
    private(set) var code: String?

    init(_ body: [UInt8]) throws(JSONError) {
        var reply = AliyunScheduleReply()
        try JSONReader.read(body) { reader throws(JSONError) in
            try reader.object { reader, key throws(JSONError) in try reply.read(&reader, key) }
        }
        self = reply
    }

    private init() {}

    private mutating func read(_ reader: inout JSONReader, _ key: String) throws(JSONError) {
        guard try reader.kind() != .null else { return }
        switch key {
        case "service_ip": ips = try reader.strings()
        case "service_ipv6": ipsv6 = try reader.strings()
        case "service_ip_port": ports = try reader.integers()
        case "service_ipv6_port": portsv6 = try reader.integers()
        case "service_status": isDisabled = try reader.stringIfAny() == "disable"
        case "code": code = try reader.stringIfAny()
        default: break
        }
    }

    /// The valid addresses with their ports, without duplicates.
    var places: [AddressSchedule.Place] {
        var places: [AddressSchedule.Place] = []
        for (texts, ports, type) in [(ips, ports, RecordType.a), (ipsv6, portsv6, .aaaa)] {
            for (index, text) in texts.enumerated() {
                guard let address = IPAddress(text), address.recordType == type else { continue }
                var place = AddressSchedule.Place(address)
                if index < ports.count, let stated = ports[index] {
                    guard let port = stated.within(1...UInt16.max) else { continue }
                    place.port = port
                }
                if places.count < AddressSchedule.limit, !places.contains(place) { places.append(place) }
            }
        }
        return places
    }
}
