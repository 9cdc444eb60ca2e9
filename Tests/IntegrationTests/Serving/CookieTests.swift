import TestServers
import TestSupport
import Testing

extension Integration {
    /// DNS cookies with dig, which sends one by default.
    struct CookieTests {
        /// The data of the cookie in the response, in hexadecimal digits.
        private func cookie(_ dig: Dig) -> String {
            dig.text.firstRange(of: "; COOKIE: ").map { dig.text[$0.upperBound...].prefix { $0.isHexDigit } }
                .map { String($0) } ?? ""
        }

        @Test(.requires(.networkNamespaces))
        func `a public client with a cookie has no rate, and one without is answered over TCP beyond it`() throws {
            let address = "198.51.100.53"
            let host = try ClientHost(addresses: [address])
            let stage = try Stage(
                on: [address], listen: "allow = [\"198.51.100.0/24\"]\nudp_rate = 1\n", inside: host)
            func ask(_ options: String...) throws -> Dig {
                try Dig(
                    TestAddress(address, port: 53), "www.example.com", "A", options, namespace: host.namespace)
            }
            let good = cookie(try ask())
            #expect(good.count == 48)
            // One a second: of some in a row one is beyond.
            let isDirected = try (0..<100).contains { _ in try ask("+nocookie", "+ignore").flags.contains("tc") }
            #expect(isDirected)
            let isRefused = try (0..<100).contains { _ in try ask("+nobadcookie").status == "BADCOOKIE" }
            #expect(isRefused)
            for _ in 0..<2 {
                #expect(try ask("+nocookie").addresses == ["192.0.2.1", "192.0.2.2"])
                // It begins with a cookie of its own, and asks again with the server's.
                #expect(try ask().addresses == ["192.0.2.1", "192.0.2.2"])
                let known = try ask("+cookie=\(good)", "+ignore", "+nobadcookie")
                #expect(known.status == "NOERROR" && !known.flags.contains("tc") && known.addresses.count == 2)
            }
            #expect(stage.daemon.waitForLog { $0.contains("is directed to TCP") })
        }
    }
}
