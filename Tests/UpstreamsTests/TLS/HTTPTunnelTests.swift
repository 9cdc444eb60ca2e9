import Testing

@testable import Upstreams

struct HTTPTunnelTests {
    /// Passes `text` to a tunnel in parts of `size` bytes.
    ///
    /// - Returns: the tunnel's state, and the number of bytes that it left unread.
    private func receive(_ text: String, inPartsOf size: Int = .max) -> (state: HTTPTunnel.State, left: Int) {
        var tunnel = HTTPTunnel(to: "192.0.2.1:443")
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(size))
            let used = part.withUnsafeBytes { tunnel.receive($0) }
            rest = rest.dropFirst(used)
            if used < part.count { break }
        }
        return (tunnel.state, rest.count)
    }

    @Test func `the request names where the tunnel ends`() {
        let request = HTTPTunnel(to: "[2001:db8::1]:443").request
        #expect(
            String(decoding: request, as: UTF8.self)
                == "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\nUser-Agent: httpdnsd\r\n\r\n")
    }

    @Test(arguments: [1, 2, 7, 1_000]) func `a tunnel opens at the end of the header, in parts of any size`(size: Int) {
        let (state, left) = receive("HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\nrest", inPartsOf: size)
        #expect(state == .isOpen)
        #expect(left == 4)
    }

    @Test(arguments: [
        "HTTP/1.0 200\r\n\r\n", "HTTP/1.1 204 No Content\n\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ])
    func `any status of success will do, of HTTP/1.0 and after interim responses too`(reply: String) {
        #expect(receive(reply).state == .isOpen)
    }

    @Test(arguments: [
        ("HTTP/1.1 407 Proxy Authentication Required\r\n", "the proxy refuses with status 407"),
        ("HTTP/1.1 101 Switching Protocols\r\n", "the proxy refuses with status 101"),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 403 Forbidden\r\n", "the proxy refuses with status 403"),
        ("SSH-2.0-OpenSSH_9.2\r\n", "the proxy's reply is not HTTP"),
        ("HTTP/1.1 2x0 OK\r\n", "the proxy's reply is not HTTP"),
        ("HTTP/1.1 +20 OK\r\n", "the proxy's reply is not HTTP"),
        ("\r\n", "the proxy's reply is not HTTP"),
    ])
    func `another reply is a refusal that says so`(reply: String, reason: String) {
        #expect(receive(reply).state == .isRefused(reason: reason))
    }

    @Test func `a header without end is refused`() {
        let reply = "HTTP/1.1 200 OK\r\n" + String(repeating: "x", count: 10_000)
        #expect(receive(reply).state == .isRefused(reason: "the proxy's reply is larger than the limit"))
    }
}
