import Configuration
import DNSWire
import Foundation
import TestSupport
import Testing

/// Lists as people have them, from other products too.
struct HostNameTests {
    private func problem(_ entry: String, key: String = "protect") -> String? {
        let found = errors(minimal + "[route]\n\(key) = ['''\(entry)''']\n")
        return found.count == 1 ? found[0] : nil
    }

    @Test(arguments: [
        "||example.com^", "domain:example.com", "full:example.com", "+.example.com", ".example.com", "*.example.com",
        "server=/example.com/1.1.1.1", "https://example.com/", "https://example.com/path", "example.com:443",
        "example.com/", "@@||example.com^", "DOMAIN-SUFFIX,example.com",
    ])
    func `another product's spelling is an error that says how to write the name here`(entry: String) throws {
        let problem = try #require(self.problem(entry))
        #expect(problem.contains("; write \"example.com\", which means the name and all below it"), "\(problem)")
    }

    @Test(arguments: [
        ("*", "write \".\" for every name"), ("/ads/", "only suffixes are known"),
        ("regexp:^ads", "only suffixes are known"), ("geosite:cn", "only suffixes are known"),
        ("file:///etc/list", "only suffixes are known"), ("a.example,b.example", "an entry of its own"),
        ("\"example.com\"", "without quotes of its own"), ("192.0.2.1", "an address or a network"),
        ("192.0.2.1.", "an address or a network"),
        ("192.0.2.0/24", "an address or a network"), ("2001:db8::/32", "an address or a network"),
        ("exa\u{200b}mple.com", "U+200B"), ("example.com\u{a0}", "U+00A0"), ("\u{feff}example.com", "U+FEFF"),
        ("exam ple.com", "U+0020"), ("exam$ple.com", "no host's has a \"$\""),
    ])
    func `what can match no name is an error`(entry: String, part: String) throws {
        let problem = try #require(self.problem(entry))
        #expect(problem.contains(part), "\(problem)")
    }

    @Test(arguments: ["bypass", "network_names"])
    func `it is so in every list of names`(key: String) throws {
        #expect(try #require(self.problem("||example.com^", key: key)).contains("write \"example.com\""))
    }

    @Test(arguments: [
        "example.com", "example.com.", "EXAMPLE.com", "_dmarc.example.com", "xn--mnchen-3ya.example", ".",
    ])
    func `names as hosts have them are taken`(entry: String) throws {
        let list = try accepted(minimal + "[route]\nprotect = [\"\(entry)\"]\n").configuration.route.protect
        #expect(list.count == 1)
    }

    @Test(arguments: ["abc def", "abc\u{200b}", "\u{feff}abc"])
    func `a secret with a blank or something unseen in it is an error that does not repeat it`(secret: String) {
        let found = errors(minimal + "[cache.shared]\nurl = \"redis://127.0.0.1\"\nkey = \"\(secret)\"\n")
        #expect(found.contains { $0.contains("which no secret has") && !$0.contains("abc") }, "\(found)")
    }

    @Test func `a mark before a text is not part of its first line`() throws {
        let directory = try TemporaryDirectory()
        let hosts = try directory.write("\u{feff}192.0.2.1 first.example\n", to: "hosts")
        let text = "\u{feff}" + minimal + "[preset]\nhosts_file = \"\(hosts)\"\n"
        #expect(try accepted(text).configuration.preset.hosts.map(\.name.description) == ["first.example"])
    }
}
