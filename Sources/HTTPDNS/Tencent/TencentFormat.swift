public import DNSWire

/// Tencent Cloud's HTTPDNS (DNSPod): `/d`, encrypted with DES or AES, or with a token over https.
///
/// A and AAAA come in one call, each with its own TTL. Source: cloud.tencent.com/document/product/379/54976 (HTTP),
/// tencentcloud.com/document/product/1130/44469 (HTTPS), cloud.tencent.com/document/product/379/3530 (encryption), and
/// the vendor's SDKs, which use the same parameters.
public struct TencentFormat: ProviderFormat {
    /// The account's credentials.
    public enum Access: Sendable {
        /// With DES or AES.
        case encrypted(PayloadBox, id: String)
        /// No encryption: for https. An empty ID is not sent.
        case token(Secret, id: String)

        /// The encryption of queries and responses; nil: none.
        var box: PayloadBox? { if case .encrypted(let box, _) = self { box } else { nil } }

        /// The parameters of every request.
        var parameters: String {
            switch self {
            case .encrypted(let box, let id): "id=\(TextEncoding.percent(id))&alg=\(box.encryption.rawValue)"
            case .token(let token, _): "token=\(TextEncoding.percent(token.value))"
            }
        }
    }

    private let access: Access

    public init(_ access: Access) { self.access = access }

    public func request(for question: UpstreamQuestion, at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        let host = try question.name.hostText()
        var target = "/d?dn=\(try sealed(host) ?? host)&\(access.parameters)"
        if case .token(_, let id) = access, !id.isEmpty { target += "&id=\(TextEncoding.percent(id))" }
        // The client's address at the end of the response shows that it is complete. Both SDKs request it too.
        target += "&ttl=1&clientip=1&query=1"
        if let client = question.clientNetwork?.address.description {
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
        guard let box = access.box else { return nil }
        return TextEncoding.hexadecimal(try box.seal(Array(text.utf8)))
    }

    public func results(
        in response: HTTPResponse, to question: UpstreamQuestion
    ) throws(UpstreamFailure) -> UpstreamResults {
        guard response.isSuccess else { throw response.failure() }
        // An empty body is not encrypted: the service has nothing for the name.
        let body = Self.trimmed(response.body[...])
        return try Self.results(body.isEmpty ? body : try access.box.opened(body), question)
    }
}

extension PayloadBox? {
    /// The text of a response without white space at its ends, decrypted where there is a box.
    fileprivate func opened(_ body: ArraySlice<UInt8>) throws(UpstreamFailure) -> ArraySlice<UInt8> {
        guard let box = self else { return body }
        let text = try box.open(TextDecoding.hexadecimal(String(decoding: body, as: UTF8.self)))
        return TencentFormat.trimmed(text[...])
    }
}

// The text of a Tencent response after decryption: one line such as
// `www.example.com.:192.0.2.1;192.0.2.2,60-2001:db8::1,120|203.0.113.7`.
//
// The name is there because it is requested (`query=1`). After the bar comes the client's address, used only as a mark
// that the response is complete, since a truncated one may end in the middle of an address. With both families the
// IPv4 part comes first. `0` is a family without addresses. The sources are those of the requests.

extension TencentFormat {
    /// The results in `text`, which has no white space at its ends, for each type of the query that it covers. Throws for
    /// another name or none, for several lines, and for any other text.
    private static func results(
        _ text: ArraySlice<UInt8>, _ question: UpstreamQuestion
    ) throws(UpstreamFailure) -> UpstreamResults {
        guard !text.contains(UInt8(ascii: "\n")) else { throw unreadable }
        let bar = text.lastIndex(of: UInt8(ascii: "|"))
        let line = text[..<(bar ?? text.endIndex)]
        // The service may leave out a name without addresses.
        let lists = text.isEmpty ? empty(question.types) : try lists(line, question)
        var results = UpstreamResults()
        for type in question.types {
            if let list = lists[type] { results.add(list.result(of: question.name), for: type) }
        }
        guard bar != nil || !results.hasAnswer else {
            throw .unusable("the reply is cut short")
        }
        return results
    }

    private static func empty(_ types: [RecordType]) -> [RecordType: AddressList] {
        Dictionary(types.map { ($0, AddressList([String](), of: $0)) }) { first, _ in first }
    }

    /// The list for each type that the line covers.
    private static func lists(
        _ line: ArraySlice<UInt8>, _ question: UpstreamQuestion
    ) throws(UpstreamFailure) -> [RecordType: AddressList] {
        if let dot = line.indices.first(where: { line[$0...].starts(with: ".:".utf8) }) {
            guard question.name.isHost(text(line[..<dot])) else {
                throw .unusable("the reply is for another name")
            }
            return try lists(line[(dot + 2)...], question.types)
        }
        // Without the separator of name and result a line can only be an empty result.
        let isNothing = line.elementsEqual("0".utf8) || line.elementsEqual("0-0".utf8)
        guard isNothing || question.name.isHost(text(line)) else {
            throw .unusable("the reply does not tell which name it is for")
        }
        return empty(question.types)
    }

    private static func lists(
        _ result: ArraySlice<UInt8>, _ types: [RecordType]
    ) throws(UpstreamFailure) -> [RecordType: AddressList] {
        let parts = result.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        switch (try AddressFamilies(types), parts.count) {
        case (.both, 2):
            return [.a: try list(parts[0], .a), .aaaa: try list(parts[1], .aaaa)]
        case (.both, 1):
            // One part covers one family, unless it says that there is nothing at all.
            let both = [RecordType.a: try list(parts[0], .a), .aaaa: try list(parts[0], .aaaa)]
            let present = both.filter { !$0.value.addresses.isEmpty }
            return present.isEmpty ? both : present
        case (.v4, 1): return [.a: try list(parts[0], .a)]
        case (.v6, 1): return [.aaaa: try list(parts[0], .aaaa)]
        default: throw unreadable
        }
    }

    /// Parses the addresses of a family, and the TTL if there is one.
    private static func list(_ part: ArraySlice<UInt8>, _ type: RecordType) throws(UpstreamFailure) -> AddressList {
        let fields = part.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard fields.count <= 2 else { throw unreadable }
        let addresses = fields[0].elementsEqual("0".utf8) ? [] : fields[0].split(separator: UInt8(ascii: ";"))
        guard let ttl = fields.count == 2 ? OutsideNumber(digits: fields[1]) : 0 else { throw unreadable }
        return AddressList(addresses.map(text), of: type, ttl: ttl)
    }

    private static var unreadable: UpstreamFailure { .unreadable("not in the service's form") }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Removes white space at both ends.
    fileprivate static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank = { (byte: UInt8) in [0x20, 0x09, 0x0a, 0x0d].contains(byte) }
        var bytes = bytes.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return bytes
    }
}

/// Tencent's scheduling call, `/conf`: a text such as `log:0|domain:0|ip:192.0.2.1;192.0.2.2|ttl:60`, encrypted if
/// queries are.
///
/// Source: cloud.tencent.com/document/product/379/116336 and the vendor's SDKs.
public struct TencentScheduleFormat: ScheduleFormat {
    /// The range of lifetimes accepted from a response, in minutes, and the default for any other.
    private static let minutes: (valid: ClosedRange<Int64>, usual: Int64) = (1...1_440, 60)

    private let access: TencentFormat.Access

    public init(_ access: TencentFormat.Access) { self.access = access }

    public func request(at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        HTTPRequest(target: "/conf?\(access.parameters)")
    }

    public func schedule(in response: HTTPResponse) throws(UpstreamFailure) -> AddressSchedule? {
        guard response.isSuccess else { throw response.failure() }
        let text = try access.box.opened(TencentFormat.trimmed(response.body[...]))
        var fields: [String: String] = [:]
        for field in String(decoding: text, as: UTF8.self).split(separator: "|") {
            let parts = field.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, fields[String(parts[0])] == nil { fields[String(parts[0])] = String(parts[1]) }
        }
        let texts = (fields["ip"] ?? "").split(separator: ";")
        let addresses = [RecordType.a, .aaaa].flatMap { AddressList(texts, of: $0).addresses }
        guard !addresses.isEmpty else { throw .unusable("the reply names no address") }
        let stated = fields["ttl"].flatMap { OutsideNumber(digits: $0)?.within(Self.minutes.valid) }
        return AddressSchedule(
            addresses.prefix(AddressSchedule.limit).map { AddressAndPort($0, port: 0) },
            lifetime: .seconds(60 * (stated ?? Self.minutes.usual)))
    }
}
