public import DNSWire
import Glibc
import HTTPDNS
public import Platform

/// What is served over HTTP at some listeners, and to which clients.
@Loop
public final class HTTPSite: Sendable {
    /// What is done with a request.
    enum Decision {
        /// The message is a query of the client; whether it has a right token.
        case query([UInt8], ConnectionQueries, isTrusted: Bool)
        case response(HTTPServerResponse)
        /// The request is for another path than that of DNS over HTTPS.
        case other
    }

    /// Seconds after which a client that guesses tokens may send another.
    private nonisolated static let retryAfter = "\(TokenGuard.interval.components.seconds)"

    /// DNS over HTTPS. An object: each request refers to it.
    final class DoH: Sendable {
        let path: [UInt8]
        let queries: ConnectionQueries
        let rules: SharedClientRules

        init(path: [UInt8], queries: ConnectionQueries, rules: SharedClientRules) {
            (self.path, self.queries, self.rules) = (path, queries, rules)
        }
    }

    /// Nil: only the service answers.
    private let doh: DoH?
    /// The most bytes of a request's header over HTTP/1.1.
    let header: Int
    private let events: EventLog
    private let clock: any LoopClock
    private let tokens = TokenGuard()
    /// Of all clients.
    let shared = HTTPSessionShare()
    /// When the date of responses is made again.
    private var dateDue: Instant?
    /// Answers requests for other paths.
    public var service: (any HTTPService)?
    /// Whether the value of `CDN-Loop` says that this server has sent the request itself.
    public var isOwnRequest: @Loop (String) -> Bool = { _ in false }

    nonisolated init(
        _ doh: DoH?, header: Int = HTTPServerLimits.header, events: EventLog, clock: any LoopClock
    ) {
        self.doh = doh
        self.header = header
        self.events = events
        self.clock = clock
    }

    /// Called before responses are written: makes their date, once a second.
    func updateDate() {
        let now = clock.now
        if let dateDue, now < dateDue { return }
        dateDue = now + .seconds(1)
        shared.date = HTTPServerResponse.date(of: Int64(time(nil))) ?? ""
    }

    /// Decides about a request.
    func decide(_ request: HTTPServerRequest, from client: SocketAddress) -> Decision {
        if let loop = request.fields[.loop], isOwnRequest(loop) { return .response(HTTPServerResponse(.loopDetected)) }
        guard let doh else { return .other }
        guard let asked = DoHRequest(request, path: doh.path) else { return .other }
        if let token = asked.token, let refusal = check(token, client, doh.rules) { return .response(refusal) }
        switch asked.message {
        case .success(let message): return .query(message, doh.queries, isTrusted: asked.token != nil)
        case .failure(let status): return .response(status == .methodNotAllowed ? .methodNotAllowed : .init(status))
        }
    }

    /// Has the service answer a request for another path.
    func serve(
        _ request: HTTPServerRequest, from client: SocketAddress,
        reply: @escaping @Loop (HTTPServerResponse) -> Void
    ) {
        guard service?.respond(to: request, from: client, reply: reply) != true else { return }
        let isKnown = [.get, .post].contains(request.method)
        reply(isKnown ? HTTPServerResponse(.notFound) : .methodNotAllowed)
    }

    /// Returns nil for a right token.
    private func check(
        _ token: ArraySlice<UInt8>, _ client: SocketAddress, _ rules: SharedClientRules
    ) -> HTTPServerResponse? {
        let known = rules.tokens
        // Without tokens this is just another path.
        guard !known.isEmpty else { return HTTPServerResponse(.notFound) }
        let network = ClientNetwork(client.ip)
        let guess = TokenGuard.Guess(atToken: token)
        switch tokens.decide(guess, isRight: known.contain(token), from: network, now: clock.now) {
        case .allowed: return nil
        case .wrong: return HTTPServerResponse(.notFound)
        case .braked:
            events.report(
                .clientRefused, about: "token",
                "\(network) sends wrong tokens and has to wait (\(tokens.wrong) were wrong since the start)")
            return HTTPServerResponse(.tooManyRequests, fields: [("retry-after", Self.retryAfter)])
        }
    }
}

/// What answers the requests at a site that are not for the path of DNS over HTTPS.
@Loop
public protocol HTTPService: Sendable {
    /// Answers a request, or leaves it.
    ///
    /// - Parameters:
    ///   - request: with any method; a response to HEAD is sent without its body.
    ///   - client: the real client, also behind a proxy of `[listen] proxies`.
    ///   - reply: called once, perhaps before this returns. After the client is gone it does nothing.
    /// - Returns: whether `reply` is called; if not, the client gets status 404, or 405 for neither GET nor POST.
    func respond(
        to request: HTTPServerRequest, from client: SocketAddress,
        reply: @escaping @Loop (HTTPServerResponse) -> Void
    ) -> Bool
}

/// The names by which this machine may be asked over plain HTTP: none that a site on the Internet can make point here, so that
/// its page can read nothing through a user's browser (DNS rebinding).
///
/// Every address passes, and not those of this machine alone: a browser sends one as `Host` only to the address itself, and
/// what a page of that address may read is its own; and behind a published port of a container, NAT or a load balancer the
/// address that clients ask is none of this machine's interfaces.
public struct HTTPHosts: Sendable {
    private let names: Set<String>

    /// - Parameters:
    ///   - machine: this machine's own name, short or full. Search domains make no full name of it: they are the network's
    ///     choice, and one that is hostile would choose its own domain.
    ///   - names: further ones.
    public init(machine: String, names: [Name] = []) {
        let machine = Self.normal(machine[...])
        let all = ["localhost", machine, String(machine.prefix { $0 != "." })]
        self.names = Set(all + names.map { Self.normal($0.description[...]) }).subtracting([""])
    }

    /// Whether a request may be answered.
    ///
    /// - Parameter host: the value of `Host`; nil: there is none, as no browser sends a request.
    public func allow(_ host: String?) -> Bool {
        guard let host else { return true }
        // All of it is looked at (RFC 9110 section 7.2), and not what comes before the first colon or bracket.
        guard let name = Self.withoutPort(host[...]) else { return false }
        if name.hasPrefix("[") {
            guard name.hasSuffix("]"), case .v6? = IPAddress(String(name.dropFirst().dropLast())) else { return false }
            return true
        }
        if case .v4? = IPAddress(String(name)) { return true }
        return names.contains(Self.normal(name))
    }

    /// The port by which a client asks.
    ///
    /// - Parameter host: the value of `Host`; nil: there is none.
    /// - Returns: nil where there is none, and of a value that is none.
    public static func port(of host: String?) -> UInt16? {
        guard let host, let name = withoutPort(host[...]) else { return nil }
        return UInt16(host[name.endIndex...].dropFirst())
    }

    /// Nil for what has something else than digits behind its last colon, outside of brackets.
    private static func withoutPort(_ host: Substring) -> Substring? {
        guard let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") else { return host }
        let port = host[colon...].dropFirst()
        return port.utf8.allSatisfy { (0x30...0x39).contains($0) } ? host[..<colon] : nil
    }

    /// In lower case, and without the dot that ends a full name.
    private static func normal(_ name: Substring) -> String {
        let name = name.lowercased()
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }
}

extension HTTPServerRequest {
    /// Whether a page of another site sends it, as its browser says.
    public var isOfAnotherSite: Bool {
        fields[.origin] != nil || !["same-origin", "none", nil].contains(fields[.site])
    }
}

/// What DNS over HTTPS makes of an HTTP request (RFC 8484).
struct DoHRequest {
    /// The query, or with which status a request without one is refused.
    let message: Result<[UInt8], HTTPServerResponse.Status>
    /// What follows the path behind a slash; nil: nothing.
    let token: ArraySlice<UInt8>?

    /// Nil for a request for another path.
    ///
    /// - Parameter path: as configured.
    init?(_ request: HTTPServerRequest, path: [UInt8]) {
        let tail = request.path.dropFirst(path.count)
        guard request.path.starts(with: path), tail.isEmpty || tail.first == UInt8(ascii: "/") && tail.count > 1 else {
            return nil
        }
        token = tail.isEmpty ? nil : tail.dropFirst()
        switch request.method {
        case .get:
            let sent = request.parameter("dns").flatMap { TextDecoding.base64URL($0) }
            message = sent.map { .success($0) } ?? .failure(.badRequest)
        case .post:
            message = request.isDNSMessage == true ? .success(request.body) : .failure(.unsupportedMediaType)
        case .head, .other: message = .failure(.methodNotAllowed)
        }
    }
}

extension HTTPServerResponse {
    /// The response with a DNS message, which is status 200 whatever its response code is.
    init(message: [UInt8]) {
        self.init(
            .ok, contentType: HTTPServerRequest.dnsMessageType, maxAge: ReplyLifetime.seconds(message.span),
            body: message)
    }
}
