import TestServers
import TestSupport
import Testing

extension Integration {
    /// `query NAME --via NAME`, and credentials that a service refuses.
    struct VendorTests {
        private func query(_ table: String, _ arguments: String...) throws -> ChildProcess.Outcome {
            let directory = try TemporaryDirectory()
            let file = try directory.write(table + DaemonConfiguration.rest(), to: "httpdnsd.toml")
            return try Daemon.run(["query", "--config", file] + arguments + ["--via", "vendor"])
        }

        @Test(arguments: [
            (VendorForm.gcm, "NXDOMAIN, from provider vendor in "), (.des, "no answer: empty, for a reason that"),
        ])
        func `query gets both families, and what there is to report of a name that is not there`(
            form: VendorForm, noSuchName: String
        ) throws {
            let vendor = try FakeHTTPDNS(Stage.zone, account: form.account)
            let both = try query(form.provider(vendor.url), "WWW.example.com", "A", "AAAA")
            #expect(both.status == 0, "\(both.output)\(both.errors)")
            #expect(both.output.lowercased().contains("www.example.com a: noerror, from provider vendor in "))
            #expect(both.output.contains(" 60 A 192.0.2.1\n") && both.output.contains(" 60 A 192.0.2.2\n"))
            #expect(both.output.hasSuffix(" AAAA 2001:db8::1\n"))
            #expect(vendor.callCount() == 1)
            let none = try query(form.provider(vendor.url), "none.example.com")
            #expect(none.status == 1)
            #expect(none.output.contains("none.example.com A: \(noSuchName)"), "\(none.output)")
        }

        @Test(arguments: [
            (VendorForm.signed, "InvalidSignature (HTTP 403)"), (.plain, "InvalidSignature (HTTP 403)"),
            (.token, "HTTP 401"), (.alidns, "InvalidSignature (HTTP 403)"),
        ])
        func `a wrong secret is reported and not shown, and the next source answers`(
            form: VendorForm, refusal: String
        ) throws {
            let secret = "fedcba9876543210fedcba9876543210"
            let vendor = try FakeHTTPDNS(Stage.zone, account: form.account)
            let provider = form.provider(vendor.url, secret: secret)
            let outcome = try query(provider, "www.example.com")
            #expect(outcome.status == 1 && outcome.output.contains(refusal), "\(outcome.output)")
            vendor.forget()
            let localDNS = try FakeLocalDNS(FakeZone("*", a: ["198.51.100.1"]))
            let daemon = try Daemon(provider + DaemonConfiguration.rest(localDNS: localDNS.address))
            #expect(try daemon.dig("www.example.com").addresses == ["198.51.100.1"])
            #expect(daemon.waitForLog { $0.contains(refusal) })
            #expect(try daemon.dig("four.example.com").addresses == ["198.51.100.1"])
            #expect(vendor.requests.count { $0.target.contains("four") } == 0)
            #expect(!(outcome.output + outcome.errors + daemon.errors).contains(secret))
        }

        @Test func `of several types each is shown once, in order, and one that has an answer is enough`() throws {
            let vendor = try FakeHTTPDNS(Stage.zone)
            let table = VendorForm.doh.provider(vendor.url)
            let text = try query(table, "four.example.com", "AAAA", "a", "MX", "A")
            #expect(text.status == 0, "\(text.output)\(text.errors)")
            let heads = text.output.split(separator: "\n").filter { $0.contains(": ") }.map { $0.prefix { $0 != ":" } }
            #expect(heads == ["four.example.com AAAA", "four.example.com A", "four.example.com MX"])
            let json = try query(table, "four.example.com", "A", "MX", "--json")
            #expect(json.output.split(separator: "\n").count == 2)
            #expect(json.output.contains(#""type":"MX","status":"NODATA""#), "\(json.output)")
            #expect(try query(table, "four.example.com", "A", "TYPE").status == 2)
        }
    }
}
