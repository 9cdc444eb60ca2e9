import DNSWire
import Glibc
import Logs
import Platform
package import Scheduling

/// What the listeners of HTTPS serve, and to which clients.
@Loop
package final class HTTPSite: Sendable {
    /// What is done with a request.
    enum Decision {
        /// The message is a query of the client; whether it has a right token.
        case query([UInt8], isTrusted: Bool)
        case response(HTTPServerResponse)
        /// The request is for another path than that of DNS over HTTPS.
        case other
    }

    /// Seconds after which a client that guesses tokens may send another.
    private nonisolated static let retryAfter = "\(TokenGuard.interval.components.seconds)"

    /// Nil: there is none here.
    private let path: [UInt8]?
    private let rules: SharedClientRules
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

    /// - Parameter path: of DNS over HTTPS; nil: only the service answers.
    nonisolated init(path: String?, rules: SharedClientRules, events: EventLog, clock: any LoopClock) {
        self.path = path.map { Array($0.utf8) }
        self.rules = rules
        self.events = events
        self.clock = clock
    }

    /// Called before responses are written: makes their date, once a second.
    func updateDate() {
        let now = clock.now
        if let dateDue, now < dateDue { return }
        dateDue = now + .seconds(1)
        date.text = Array((DateText.of(Int64(time(nil))) ?? "").utf8)
    }

    /// Decides about a request.
    func decide(_ request: HTTPServerRequest, from client: SocketAddress) -> Decision {
        if let loop = request.loop, isOwnRequest(loop) { return .response(HTTPServerResponse(.loopDetected)) }
        guard let path else { return .other }
        switch DoHRequest(request, path: path) {
        case .query(let message, let token):
            if let token, let refusal = check(token, client) { return .response(refusal) }
            return .query(message, isTrusted: token != nil)
        case .refused(let response, let token):
            return .response(token.flatMap { check($0, client) } ?? response)
        case .other: return .other
        }
    }

    /// Has the service answer a request for another path.
    func serve(
        _ request: HTTPServerRequest, from client: SocketAddress,
        reply: @escaping @Loop (HTTPServerResponse) -> Void
    ) {
        // HEAD is one of them: a response to it must have no body, which a service would write.
        guard request.method != .other else { return reply(.methodNotAllowed) }
        if service?.respond(to: request, from: client, reply: reply) != true { reply(HTTPServerResponse(.notFound)) }
    }

    /// Returns nil for a right token.
    private func check(_ token: ArraySlice<UInt8>, _ client: SocketAddress) -> HTTPServerResponse? {
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
