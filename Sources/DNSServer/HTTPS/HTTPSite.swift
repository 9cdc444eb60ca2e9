import DNSWire
import Glibc
import Logs
package import Platform
package import Scheduling

/// What is served over HTTP at some listeners, and to which clients.
@Loop
package final class HTTPSite: Sendable {
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

    private let doh: DoH?
    /// Bytes of a request's header over HTTP/1.1.
    let header: Int
    private let events: EventLog
    private let clock: any LoopClock
    private let tokens = TokenGuard()
    /// Of the responses to all clients.
    let date = ResponseDate()
    /// When its text is made again.
    private var dateDue: Instant?
    /// The memory of all clients over HTTP/2.
    private(set) lazy var sessions = HTTP2SessionMemory(date: date)
    /// Answers requests for other paths.
    package var service: (any HTTPService)?
    /// Whether the value of `CDN-Loop` says that this server has sent the request itself.
    package var isOwnRequest: @Loop (String) -> Bool = { _ in false }

    /// - Parameters:
    ///   - doh: nil: only the service answers.
    ///   - header: the most bytes of a request's header over HTTP/1.1.
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
        date.text = DateText.of(Int64(time(nil))) ?? ""
    }

    /// Decides about a request.
    func decide(_ request: HTTPServerRequest, from client: SocketAddress) -> Decision {
        if let loop = request.loop, isOwnRequest(loop) { return .response(HTTPServerResponse(.loopDetected)) }
        guard let doh else { return .other }
        switch DoHRequest(request, path: doh.path) {
        case .query(let message, let token):
            if let token, let refusal = check(token, client, doh.rules) { return .response(refusal) }
            return .query(message, doh.queries, isTrusted: token != nil)
        case .refused(let response, let token):
            return .response(token.flatMap { check($0, client, doh.rules) } ?? response)
        case .other: return .other
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
                LogMessage(
                    .clientRefused, about: "token",
                    "\(network) sends wrong tokens and has to wait (\(tokens.wrong) were wrong since the start)"))
            return HTTPServerResponse(.tooManyRequests, fields: [("retry-after", Self.retryAfter)])
        }
    }
}

/// What answers the requests at a site that are not for the path of DNS over HTTPS.
@Loop
package protocol HTTPService: Sendable {
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
