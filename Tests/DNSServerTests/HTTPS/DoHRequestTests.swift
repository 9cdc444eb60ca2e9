import DNSWire
import Platform
import TestSupport
import Testing

@testable import DNSServer

@Suite(.onLoop) struct DoHRequestTests {
    private func request(
        _ method: HTTPServerRequest.Method = .get, _ target: String, isDNSMessage: Bool? = nil,
        body: [UInt8] = []
    ) -> DoHRequest? {
        DoHRequest(
            HTTPServerRequest(method: method, target: Array(target.utf8), isDNSMessage: isDNSMessage, body: body),
            path: Array("/dns-query".utf8))
    }

    private func message(_ request: DoHRequest?) -> [UInt8]? { try? request?.message.get() }

    private func token(_ request: DoHRequest?) -> String? {
        request?.token.map { String(decoding: $0, as: UTF8.self) }
    }

    private func status(_ request: DoHRequest?) -> HTTPServerResponse.Status? {
        if case .failure(let status)? = request?.message { status } else { nil }
    }

    @Test func `the message of a GET is in its target`() {
        #expect(message(request(.get, "/dns-query?dns=AAEC")) == [0, 1, 2])
        #expect(message(request(.get, "/dns-query?ct&a=b&dns=-_8&dns=AAEC")) == [0xfb, 0xff])
    }

    @Test func `the message of a POST is its body`() {
        #expect(message(request(.post, "/dns-query", isDNSMessage: true, body: [1, 2])) == [1, 2])
        #expect(message(request(.post, "/dns-query?dns=AAEC", isDNSMessage: true, body: [1])) == [1])
    }

    @Test(arguments: [
        "/dns-query", "/dns-query?", "/dns-query?dns", "/dns-query?ddns=AAEC", "/dns-query?dns=AAECA",
        "/dns-query?dns=AA==", "/dns-query?dns=AA%3D", "/dns-query?dns=+/8", "/dns-query?dns=AB",
    ])
    func `a GET without a message in base64url is a bad request`(target: String) {
        #expect(status(request(.get, target)) == .badRequest)
    }

    @Test func `a POST of another type, and another method, are refused`() {
        #expect(status(request(.post, "/dns-query", isDNSMessage: false)) == .unsupportedMediaType)
        #expect(status(request(.post, "/dns-query")) == .unsupportedMediaType)
        #expect(status(request(.other, "/dns-query?dns=AAEC")) == .methodNotAllowed)
    }

    @Test func `a token follows the path behind a slash`() {
        #expect(token(request(.get, "/dns-query/secret?dns=AAEC")) == "secret")
        #expect(token(request(.other, "/dns-query/a/b")) == "a/b")
        #expect(token(request(.get, "/dns-query?dns=AAEC")) == nil)
    }

    @Test(arguments: ["/", "/dns-quer", "/dns-query/", "/dns-querying", "/other?dns=AAEC"])
    func `other paths are not its own`(target: String) {
        #expect(request(.get, target) == nil)
    }

    // MARK: Tokens

    @Test func `a token is right when it is one of those configured, and nothing like it is`() {
        let tokens = AccessTokens(["0123456789abcdef", "another-token-of-mine"])
        #expect(tokens.contain(Array("0123456789abcdef".utf8)[...]))
        #expect(tokens.contain(Array("another-token-of-mine".utf8)[...]))
        for text in ["", "0", "0123456789abcde", "0123456789abcdefg", "0123456789abcdeF"] {
            #expect(!tokens.contain(Array(text.utf8)[...]))
        }
        #expect(!AccessTokens().contain([]))
    }

    private static let network = ClientNetwork(.v4(0xc000_0201))
    private static let other = ClientNetwork(.v4(0xc000_0301))

    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: 0) + .seconds(seconds) }

    @Loop private func decide(
        _ tokens: TokenGuard, _ token: String, isRight: Bool = false, from network: ClientNetwork = network,
        at seconds: Int64
    ) -> TokenGuard.Decision {
        let guess = TokenGuard.Guess(atToken: token.utf8)
        return tokens.decide(guess, isRight: isRight, from: network, now: at(seconds))
    }

    @Test @Loop func `a network that guesses has to wait, and no other network has`() {
        let tokens = TokenGuard()
        for _ in 0..<TokenGuard.guesses {
            #expect(decide(tokens, "secret-0", at: 1) == .wrong)
        }
        #expect(decide(tokens, "secret-0", at: 2) == .braked)
        #expect(decide(tokens, "secret-1", isRight: true, at: 2) == .braked)
        #expect(decide(tokens, "secret-1", isRight: true, from: Self.other, at: 2) == .allowed)
        #expect(decide(tokens, "secret-1", isRight: true, at: 61) == .allowed)
    }

    @Test @Loop func `a neighbour's wrong tokens lock out no right one that begins otherwise`() {
        let tokens = TokenGuard()
        for _ in 0..<1_000 { _ = decide(tokens, "0ld-token-of-a-neighbour", at: 1) }
        #expect(decide(tokens, "a-right-one", isRight: true, at: 2) == .allowed)
    }

    @Test @Loop func `of any number of beginnings a network has ninety guesses a minute`() {
        let tokens = TokenGuard()
        let right = (0..<1_000).count { decide(tokens, "\(1_000 + $0)-0", at: 1) == .wrong }
        let more = (0..<1_000).count { decide(tokens, "\(1_000 + $0 % 8)-1", at: 1) == .wrong }
        #expect(right + more == 90)
        #expect(decide(tokens, "3000-2", isRight: true, at: 2) == .braked)
        #expect(decide(tokens, "3000-2", isRight: true, at: 61) == .allowed)
    }

    @Test @Loop func `a right token that was sent before is let in, and lets in no guess that begins so`() {
        let tokens = TokenGuard()
        #expect(decide(tokens, "secret-1", isRight: true, at: 0) == .allowed)
        for _ in 0..<20 { _ = decide(tokens, "secret-0", at: 1) }
        #expect(decide(tokens, "secret-0", at: 1) == .braked)
        #expect(decide(tokens, "secret-1", isRight: true, at: 1) == .allowed)
        // Another right one, guessed: the one that is known is no reason to let it in.
        #expect(decide(tokens, "secret-2", isRight: true, at: 1) == .braked)
        #expect(tokens.wrong == 21)
    }

    @Test @Loop func `guesses from any number of networks take bounded memory`() {
        let tokens = TokenGuard()
        for address in 0..<10_000 {
            let network = ClientNetwork(.v4(UInt32(address) << 8))
            _ = decide(tokens, "\(address)", from: network, at: 0)
        }
        #expect(tokens.networks <= 4_096)
    }
}
