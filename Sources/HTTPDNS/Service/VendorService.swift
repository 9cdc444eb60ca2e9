package import DNSWire

/// HTTPDNS served by this server, in the vendors' own forms: reads requests, and writes replies. Pure: what it asks for
/// is resolved by its caller.
package struct VendorService: Sendable {
    private let accounts: ServiceAccounts
    private let addresses: [IPAddress]
    private let crypto: any Crypto
    private let dataText: @Sendable (Record) -> String

    /// - Parameters:
    ///   - addresses: at which clients reach this server, for those that ask for a list; empty: no list is given.
    ///   - dataText: the rdata of a record in presentation form.
    package init(
        accounts: [ServiceAccount], addresses: [IPAddress], crypto: any Crypto,
        dataText: @escaping @Sendable (Record) -> String
    ) {
        self.accounts = ServiceAccounts(accounts)
        self.addresses = addresses
        self.crypto = crypto
        self.dataText = dataText
    }

    /// What a request comes to. Never traps on any bytes.
    ///
    /// - Parameter time: seconds since 1970.
    package func read(_ request: ServiceRequest, at time: Int64) -> ServiceReading {
        guard let target = RequestTarget(request.target, form: request.method == .post ? request.body : []) else {
            return .unknown
        }
        switch read(target, request, at: time) {
        case .denied(let reply, _): return .denied(reply, target.credential)
        case .call(var call):
            call.credential = target.credential
            return .call(call)
        case let reading: return reading
        }
    }

    private func read(_ target: RequestTarget, _ request: ServiceRequest, at time: Int64) -> ServiceReading {
        let aliyun = AliyunService(accounts: accounts, crypto: crypto, addresses: addresses)
        let tencent = TencentService(accounts: accounts, crypto: crypto, addresses: addresses)
        switch (target.path.count, target.path.last) {
        case (1, "resolve"):
            return JSONService(accounts: accounts, crypto: crypto, dataText: dataText).read(target, request, at: time)
        case (1, "d"):
            return Self.reading { () throws(TencentServiceError) in try tencent.read(target, request, at: time) }
        case (1, "conf"): return Self.reading { () throws(TencentServiceError) in try tencent.schedule(target) }
        case (2, "d") where target.path[0] == "v2":
            return Self.reading { () throws(AliyunServiceError) in
                try AliyunV2Service(accounts: accounts, crypto: crypto).read(target, request, at: time)
            }
        case (2, let interface?) where ["d", "sign_d", "resolve", "sign_resolve", "ss"].contains(interface):
            return Self.reading { () throws(AliyunServiceError) in
                try aliyun.read(target, interface, request, at: time)
            }
        default: return .unknown
        }
    }

    private static func reading(_ body: () throws(AliyunServiceError) -> ServiceReading) -> ServiceReading {
        do { return try body() } catch { return error.reading }
    }

    private static func reading(_ body: () throws(TencentServiceError) -> ServiceReading) -> ServiceReading {
        do { return try body() } catch { return error.reading }
    }
}

/// The mark by which a server that offers DNS over HTTPS or HTTPDNS finds that its own request has come back to it: a
/// random name of the process in the field `CDN-Loop` (RFC 8586).
///
/// Only such a server sends it: another one cannot be asked over HTTP, and a mark would tell services which requests are
/// of one process.
package struct LoopMark: Hashable, Sendable {
    private static let field = "cdn-loop"
    private static let length = 8

    /// As it is sent.
    package let text: String

    /// Nil without random bytes.
    package init?(_ crypto: any Crypto) {
        guard let bytes = crypto.randomBytes(Self.length) else { return nil }
        text = "httpdnsd-\(TextEncoding.hexadecimal(bytes))"
    }

    /// Whether it is among the names of a field's value, each of which may have parameters.
    package func isIn(_ value: String) -> Bool {
        value.split(separator: ",").contains { entry in
            entry.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" } == text
        }
    }

    /// The same request with the mark.
    func added(to request: HTTPRequest) -> HTTPRequest {
        var request = request
        request.headers.append([Self.field, text])
        return request
    }
}

/// A provider's format with the mark in each request.
package struct MarkedFormat: ProviderFormat {
    private let format: any ProviderFormat
    private let mark: LoopMark

    package init(_ format: any ProviderFormat, mark: LoopMark) {
        self.format = format
        self.mark = mark
    }

    package var answersBothFamilies: Bool { format.answersBothFamilies }

    package func answers(_ type: RecordType) -> Bool { format.answers(type) }

    package func request(for question: UpstreamQuestion, at time: Int64) throws(UpstreamFailure) -> HTTPRequest {
        mark.added(to: try format.request(for: question, at: time))
    }

    package func outcome(of response: HTTPResponse, to question: UpstreamQuestion) -> ProviderOutcome {
        format.outcome(of: response, to: question)
    }
}
