public import DNSWire

/// HTTPDNS served by this server, in the vendors' own forms: reads requests, and writes replies. Pure: what it asks for
/// is resolved by its caller.
public struct VendorService: Sendable {
    let crypto: any Crypto
    /// Of this server, for clients that ask for a list.
    let addresses: [IPAddress]
    let dataText: @Sendable (Record) -> String
    /// By ID.
    private let accounts: [String: ServiceAccount]

    /// - Parameters:
    ///   - addresses: at which clients reach this server, for those that ask for a list; empty: no list is given.
    ///   - dataText: the rdata of a record in presentation form.
    public init(
        accounts: [ServiceAccount], addresses: [IPAddress], crypto: any Crypto,
        dataText: @escaping @Sendable (Record) -> String
    ) {
        self.accounts = Dictionary(accounts.map { ($0.id, $0) }) { first, _ in first }
        self.addresses = addresses
        self.crypto = crypto
        self.dataText = dataText
    }

    func account(_ id: String) -> ServiceAccount? { accounts[id] }

    /// The account with this token. All are compared: the time taken does not depend on which one it is.
    func account(withToken token: String) -> ServiceAccount? {
        accounts.values.reduce(nil) { found, account in
            guard let secret = account.secret?.value else { return found }
            return areEqual(secret, token) ? account : found
        }
    }

    /// What a request comes to at a time in seconds since 1970. Never traps on any bytes.
    public func read(_ request: ServiceRequest, at time: Int64) -> ServiceReading {
        guard let target = RequestTarget(request.target, form: request.isPost ? request.body : []) else {
            return .unknown
        }
        do throws(ServiceError) {
            let reading = try read(target, request, at: time)
            guard case .call(var call) = reading else { return reading }
            call.credential = target.credential
            return .call(call)
        } catch {
            return error.isGuess ? .denied(error.reply, target.credential) : .reply(error.reply)
        }
    }

    private func read(
        _ target: RequestTarget, _ request: ServiceRequest, at time: Int64
    ) throws(ServiceError) -> ServiceReading {
        switch (target.path.count, target.path.last) {
        case (1, "resolve"): .call(try jsonCall(target, request, at: time))
        case (1, "d"): .call(try tencentCall(target, request, at: time))
        case (1, "conf"): .reply(try tencentSchedule(target))
        case (2, "d") where target.path[0] == "v2": .call(try aliyunV2Call(target, request, at: time))
        case (2, "ss"): .reply(try aliyunSchedule(target, request, at: time))
        case (2, let interface?) where ["d", "sign_d", "resolve", "sign_resolve"].contains(interface):
            .call(try aliyunCall(target, interface, request, at: time))
        default: .unknown
        }
    }
}

/// A request that gets an error in the vendor's form.
struct ServiceError: Error {
    let reply: ServiceReply
    /// Whether a credential was wrong.
    var isGuess = false

    /// With a code in JSON.
    static func coded(_ code: String, _ status: Int, isGuess: Bool = false) -> ServiceError {
        ServiceError(reply: ServiceReply(status, json: JSONWriter.object { $0.member("code", code) }), isGuess: isGuess)
    }
}

/// The mark by which a server that offers DNS over HTTPS or HTTPDNS finds that its own request has come back to it: a
/// random name of the process in the field `CDN-Loop` (RFC 8586).
///
/// Only such a server sends it: another one cannot be asked over HTTP, and a mark would tell services which requests are
/// of one process.
public struct LoopMark: Hashable, Sendable {
    private static let field = "cdn-loop"
    private static let length = 8

    /// As it is sent.
    public let text: String

    /// Nil without random bytes.
    public init?(_ crypto: any Crypto) {
        guard let bytes = crypto.randomBytes(Self.length) else { return nil }
        text = "httpdnsd-\(TextEncoding.hexadecimal(bytes))"
    }

    /// Whether it is among the names of a field's value, each of which may have parameters.
    public func isIn(_ value: String) -> Bool {
        value.split(separator: ",").contains { entry in
            entry.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" } == text
        }
    }

    /// The same request with the mark.
    public func added(to request: HTTPRequest) -> HTTPRequest {
        var request = request
        request.headers.append([Self.field, text])
        return request
    }
}
