import DNSServer
import DNSWire
import Glibc
import HTTPDNS
import Platform

/// Answers requests in the vendors' forms: their questions go the way of all queries, through the cache and the resolver,
/// with the same access list and limits.
@Loop
struct VendorRequests: HTTPService {
    private static let retryAfter = "\(TokenGuard.interval.components.seconds)"

    let accounts: VendorAccounts
    /// It holds this.
    unowned let server: Server
    let isEncrypted: Bool

    /// Answers the requests that a server receives over HTTPS and HTTP.
    static func serve(_ accounts: VendorAccounts, on server: Server) {
        for (site, isEncrypted) in [(server.site, true), (server.plainSite, false)] {
            site.service = VendorRequests(accounts: accounts, server: server, isEncrypted: isEncrypted)
            site.isOwnRequest = { LoopMark.ofProcess?.isIn($0) == true }
        }
    }

    func respond(
        to request: HTTPServerRequest, from client: SocketAddress,
        reply: @escaping @Loop (HTTPServerResponse) -> Void
    ) -> Bool {
        guard [.get, .post].contains(request.method) else { return false }
        // Over HTTPS a browser finds no certificate for a name of another site; apps and other programs say no site.
        if !isEncrypted, let refusal = accounts.refusal(of: request) {
            end(.site, refusal, reply)
            return true
        }
        let time = Int64(time(nil))
        switch accounts.service.read(ServiceRequest(request, from: client, isEncrypted: isEncrypted), at: time) {
        case .unknown: return false
        case .reply(let response): end(VendorOutcome(status: response.status), HTTPServerResponse(response), reply)
        case .denied(let error, let credential):
            deny(credential, from: client, HTTPServerResponse(error), reply)
        case .call(var call):
            let isOutside = !server.admits(client.ip)
            let isLimited = isOutside && call.isAuthenticated && limit(&call)
            if call.isAuthenticated,
                !accounts.note(call.credential, isValid: true, from: client, now: .bootTime)
            {
                end(.guesses, Self.braked, reply)
            } else if isOutside, call.proof == .doubtful {
                // As those that do not fit, or the replies would tell which do.
                server.refuse(client.ip)
                deny(call.credential, from: client, HTTPServerResponse(call.reply(.doubtful)), reply)
            } else if !call.isAuthenticated, isOutside {
                // Before it counts: what is refused uses up nothing of an account.
                server.refuse(client.ip)
                end(.access, HTTPServerResponse(call.reply(.notAllowed)), reply)
            } else if !accounts.take(call.questions.count, of: call.account, at: time) {
                end(.quota, HTTPServerResponse(call.reply(.overQuota)), reply)
            } else {
                accounts.count(.answered)
                resolve(call, from: client, isLimited: isLimited, reply)
            }
        }
        return true
    }

    /// Returns whether the names in the answers are limited, too.
    private func limit(_ call: inout ServiceCall) -> Bool {
        let count = call.questions.count
        guard call.limit(to: { accounts.isPublic($0) }) else { return false }
        if call.questions.count < count { accounts.reportLimit(of: call.account ?? "") }
        return true
    }

    private func deny(
        _ credential: ServiceCredential?, from client: SocketAddress, _ response: HTTPServerResponse,
        _ reply: @Loop (HTTPServerResponse) -> Void
    ) {
        let isHeard = accounts.note(credential, isValid: false, from: client, now: .bootTime)
        end(isHeard ? .credentials : .guesses, isHeard ? response : Self.braked, reply)
    }

    private func end(
        _ outcome: VendorOutcome, _ response: HTTPServerResponse, _ reply: @Loop (HTTPServerResponse) -> Void
    ) {
        accounts.count(outcome)
        reply(response)
    }

    private static var braked: HTTPServerResponse {
        HTTPServerResponse(.tooManyRequests, fields: [("retry-after", retryAfter)])
    }

    private func resolve(
        _ call: ServiceCall, from client: SocketAddress, isLimited: Bool,
        _ reply: @escaping @Loop (HTTPServerResponse) -> Void
    ) {
        var messages: [Message?] = call.questions.map { _ in nil }
        var missing = messages.count
        func finish() { reply(HTTPServerResponse(call.reply(messages, for: call.client ?? client.ip))) }
        guard missing > 0 else { return finish() }
        for (index, question) in call.questions.enumerated() {
            let asked = call.client(of: index).map { SocketAddress($0, port: client.port) } ?? client
            server.answer(
                call.query(question), from: asked, isTrusted: call.isAuthenticated, isEncrypted: isEncrypted
            ) { [accounts] response in
                let message = response.flatMap { try? MessageParser.parse($0) }
                // A name of the Internet may be an alias of one of the network's.
                let isHidden =
                    isLimited
                    && message?.answers.contains { !accounts.isPublic(Question(name: $0.name, type: $0.type)) } == true
                messages[index] = isHidden ? nil : message
                missing -= 1
                if missing == 0 { finish() }
            }
        }
    }
}

extension ServiceCall {
    /// The message for one of its questions.
    fileprivate func query(_ question: Question) -> [UInt8] {
        var flags: HeaderFlags = .recursionDesired
        if checkingDisabled { flags.insert(.checkingDisabled) }
        var builder = MessageBuilder(id: 0, flags: flags)
        builder.append(question)
        // With a source prefix length of 0 (RFC 7871 section 7.1.2).
        let options = hidesNetwork ? [EDNSOption(code: .clientSubnet, data: [0, 1, 0, 0])] : []
        if dnssecOK || hidesNetwork { builder.append(EDNS(dnssecOK: dnssecOK, options: options)) }
        return builder.bytes
    }
}

extension ServiceRequest {
    fileprivate init(_ request: HTTPServerRequest, from client: SocketAddress, isEncrypted: Bool) {
        self.init(
            isPost: request.method == .post, target: request.target, body: request.body,
            client: client.ip, port: HTTPHosts.port(of: request.fields[.host]), isEncrypted: isEncrypted)
    }
}

extension HTTPServerResponse {
    fileprivate init(_ reply: ServiceReply) {
        self.init(
            Status.allCases.first { $0.code == "\(reply.status)" } ?? .internalError,
            contentType: reply.isJSON ? "application/json" : "text/plain",
            body: reply.body)
    }
}
