import Configuration
import DNSWire
import HTTPDNS
import Testing

struct SignedPolicyTests {
    private let keys = PolicyFile.keys

    @Test func `a document of the trusted key is read`() throws {
        let policy = try PolicyFile.accepted(PolicyFile(serial: 3).signed())
        #expect(policy.document.serial == 3)
        #expect(policy.document.expires == 1_896_048_000)
        #expect(policy.changes.isEmpty)
    }

    @Test func `of two trusted keys either may have signed`() throws {
        for key in keys { _ = try PolicyFile.accepted(PolicyFile().signed(key)) }
    }

    @Test func `a document of another key is refused with the names of both`() {
        #expect(
            PolicyFile.errors(PolicyFile().signed(keys[1]), keys: [keys[0]]) == [
                "t.policy:1: is signed with the key \"AgICAgIC\", and policy.public_key trusts \"AQEBAQEB\""
            ])
    }

    @Test func `an altered byte anywhere is refused before anything is read`() {
        let bytes = PolicyFile(lines: "switch = \"off\"").signed()
        for index in bytes.indices {
            var altered = bytes
            altered[index] ^= 1
            // The key's identifier is for people, and not signed.
            let isIdentifier = (19..<27).contains(index)
            if isIdentifier { continue }
            let errors = PolicyFile.errors(altered)
            #expect(errors.count == 1 && errors[0].hasPrefix("t.policy:1: "), "byte \(index)")
        }
    }

    @Test func `a text after the signed one, or a part of it, is refused`() {
        let bytes = PolicyFile().signed()
        #expect(PolicyFile.errors(bytes + Array("#".utf8)).count == 1)
        #expect(PolicyFile.errors(Array(bytes.dropLast())).count == 1)
    }

    @Test(arguments: [
        "", "\n", "[document]\n", "#httpdnsd-policy ", "#httpdnsd-policy 1 a", "#httpdnsd-policy 1 a b\n",
        "#httpdnsd-policy 1  \n", "#httpdnsd-policy 2 a b\n", "#httpdnsd-policy 1\n",
    ])
    func `what has no whole first line is refused in one line`(text: String) {
        #expect(PolicyFile.errors(Array(text.utf8)).count == 1)
    }

    @Test func `a file above the limit is refused`() {
        let bytes = PolicyFile(lines: "#" + String(repeating: "x", count: PolicyEnvelope.maximumSize)).signed()
        #expect(PolicyFile.errors(bytes) == ["t.policy:1: is larger than 4MiB"])
    }

    @Test func `what is signed and no TOML is refused with its place in the file`() {
        let errors = PolicyFile.errors(PolicyFile(lines: "switch = off").signed())
        #expect(errors.count == 1 && errors[0].hasPrefix("t.policy:5:"), "\(errors)")
    }

    @Test(arguments: [
        ("[[provider]]\ntype = \"doh\"", "provider"), ("[listen]\naddresses = [\"0.0.0.0:53\"]", "listen"),
        ("[policy]\nurl = \"https://evil.example/\"", "policy"), ("[route]\nmode = \"localdns-only\"", "route.mode"),
        ("[preset]\nhosts_file = \"/etc/shadow\"", "preset.hosts_file"), ("[cache.disk]\npath = \"/x\"", "cache"),
        ("[answers]\nprefer = \"ipv4\"", "answers.prefer"), ("[http]\nproxy = \"http://192.0.2.1:1\"", "http"),
    ])
    func `what only the machine's own file may say is refused with line and key`(lines: String, key: String) {
        let errors = PolicyFile.errors(PolicyFile(lines: lines).signed())
        #expect(
            errors.count == 1 && errors[0].contains(": \(key): cannot be in a signed policy")
                && errors[0].hasPrefix("t.policy:"), "\(errors)")
    }

    @Test func `a misspelt key is named with the right one`() {
        #expect(
            PolicyFile.errors(PolicyFile(lines: "[route]\nprotct = [\"example.com\"]").signed()) == [
                "t.policy:6: route.protct: unknown key; did you mean \"protect\"?"
            ])
    }

    @Test func `serial and expires are needed`() {
        for (text, count) in [("[document]\n", 2), ("\n", 1)] {
            let error = #expect(throws: ConfigurationError.self) {
                try SignedPolicy.parse(Array(text.utf8), file: "t.policy")
            }
            let messages = error?.diagnostics.map(\.message) ?? []
            #expect(messages.count == count && messages.allSatisfy { $0.hasPrefix("is missing") }, "\(messages)")
        }
    }

    @Test(arguments: [
        "2030-01-31", "\"2030-01-31T00:00:00Z\"", "2030-01-31T00:00:00", "2030-01-31T00:00:00+08:00", "5",
    ])
    func `an expiry that is no time in UTC is refused`(text: String) {
        #expect(PolicyFile.errors(PolicyFile(expires: text).signed()).count == 1)
    }

    @Test func `a variable of the machine has no place in it`() {
        #expect(PolicyFile.errors(PolicyFile(lines: "[route]\nprotect = [\"${HOME}\"]").signed()).count == 1)
    }
}
