import Configuration
import Testing

/// `[policy]` of the configuration file.
struct PolicySettingsTests {
    private let key = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="

    private func policyErrors(_ lines: String) -> [String] { errors(minimal + "[policy]\n" + lines) }

    @Test(arguments: [
        ("https://policy.example.com/a", "https://policy.example.com/a"),
        ("file:///etc/a.policy", "file:///etc/a.policy"),
        ("/etc/a.policy", "file:///etc/a.policy"),
    ])
    func `a URL is https or a file`(text: String, description: String) throws {
        let loaded = try accepted(minimal + "[policy]\nurl = \"\(text)\"\npublic_key = [\"\(key)\"]")
        #expect(loaded.configuration.policy.url?.description == description)
        #expect(!loaded.warnings.contains { $0.key == "policy.url" })
    }

    @Test(arguments: ["http://policy.example.com/a", "ftp://x/", "policy.example.com", "file:a", "https://"])
    func `another URL is refused with what would be right`(text: String) {
        let errors = policyErrors("url = \"\(text)\"\npublic_key = [\"\(key)\"]")
        #expect(errors.count == 1 && errors[0].hasPrefix("t.toml:5: policy.url: "), "\(errors)")
    }

    @Test(arguments: [
        ("url = \"/etc/a.policy\"", "policy.public_key: is missing"),
        ("public_key = [\"AAAA\"]", "has 3 bytes, and an Ed25519 public key has 32"),
        ("public_key = [\"not a key\"]", "is not base64"),
    ])
    func `a key that is missing or none is refused`(lines: String, problem: String) {
        let errors = policyErrors(lines)
        #expect(errors.count == 1 && errors[0].contains(problem), "\(errors)")
    }

    @Test func `two keys are trusted at once, and not three`() throws {
        _ = try accepted(minimal + "[policy]\npublic_key = [\"\(key)\", \"\(key)\"]")
        #expect(policyErrors("public_key = [\"\(key)\", \"\(key)\", \"\(key)\"]").count == 1)
    }

    @Test(arguments: ["", "[control]\nsocket = \"\"\n"])
    func `without a file on disk and a control socket a warning says that it is not stored`(control: String) throws {
        let loaded = try accepted(
            minimal + control
                + "[cache.disk]\npath = \"\"\n[policy]\nurl = \"/etc/a.policy\"\npublic_key = [\"\(key)\"]")
        #expect(loaded.warnings.contains { $0.key == "policy.url" } == !control.isEmpty)
    }
}
