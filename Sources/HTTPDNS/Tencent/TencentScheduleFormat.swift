package import DNSWire

/// Tencent's scheduling call, `/conf`: a text such as `log:0|domain:0|ip:192.0.2.1;192.0.2.2|ttl:60`, encrypted if
/// queries are.
///
/// Source: cloud.tencent.com/document/product/379/116336 and the vendor's SDKs.
package struct TencentScheduleFormat: ScheduleFormat {
    /// The range of lifetimes accepted from a response, in minutes, and the default for any other.
    private static let minutes: (valid: ClosedRange<Int64>, usual: Int64) = (1...1_440, 60)

    private let access: TencentFormat.Access
    private let crypto: any Crypto

    package init(_ access: TencentFormat.Access, crypto: any Crypto) {
        self.access = access
        self.crypto = crypto
    }

    package func request(at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        switch access {
        case .des(let id, _): HTTPRequest(target: "/conf?id=\(TextEncoding.percent(id))&alg=des")
        case .aes(let id, _): HTTPRequest(target: "/conf?id=\(TextEncoding.percent(id))&alg=aes")
        case .token(let token, _): HTTPRequest(target: "/conf?token=\(TextEncoding.percent(token.value))")
        }
    }

    package func outcome(of response: HTTPResponse) -> ScheduleOutcome {
        guard response.isSuccess else { return .failure(HTTPStatusFailure.failure(of: response)) }
        let body = Array(TencentReply.trimmed(response.body[...]))
        do {
            guard let box = access.box(crypto) else { return .addresses(try Self.schedule(body)) }
            let text = try box.open(TextDecoding.hexadecimal(String(decoding: body, as: UTF8.self)))
            return .addresses(try Self.schedule(text))
        } catch {
            return .failure(error)
        }
    }

    private static func schedule(_ text: [UInt8]) throws(UpstreamFailure) -> AddressSchedule {
        var fields: [String: String] = [:]
        for field in String(decoding: text, as: UTF8.self).split(separator: "|") {
            let parts = field.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, fields[String(parts[0])] == nil { fields[String(parts[0])] = String(parts[1]) }
        }
        let list = AddressList(texts: (fields["ip"] ?? "").split(separator: ";").map(String.init))
        let addresses = list.addresses(of: .a) + list.addresses(of: .aaaa)
        guard !addresses.isEmpty else { throw .unusable("the reply names no address") }
        let stated = fields["ttl"].flatMap { OutsideNumber(digits: $0)?.within(minutes.valid) }
        return AddressSchedule(
            addresses.prefix(AddressSchedule.limit).map { .init($0) },
            lifetime: .seconds(60 * (stated ?? minutes.usual)))
    }
}
