import Configuration
import Foundation
import TestSupport
import Testing

@testable import httpdnsd

/// What `check` says of a signed policy.
struct ExaminedPolicyTests {
    private let directory: TemporaryDirectory
    private let key: PolicySecretKey

    init() throws {
        directory = try TemporaryDirectory()
        key = try PolicySecretKey.make(directory.path + "/secret.key")
    }

    /// Signs a policy that switches HTTPDNS off.
    private func sign(_ serial: Int, to path: String) throws {
        let text = "[document]\nserial = \(serial)\nexpires = 2100-01-02T00:00:00Z\nswitch = \"off\"\n"
        let signed = try #require(key.signed(Array(text.utf8)[...]))
        try Data(signed).write(to: URL(filePath: path))
    }

    private func settings() throws -> Configuration {
        let text = Patient.configuration.replacing("path = \"\"", with: "path = \"\(directory.path)/cache\"")
        return try Configuration.parse(
            text: text + "[policy]\nurl = \"\(directory.path)/policy\"\npublic_key = [\"\(key.publicKey)\"]\n"
        ).configuration
    }

    @Test func `the stored policy is in force while its file cannot be read`() throws {
        try sign(3, to: directory.path + "/cache.policy")
        let examined = try ExaminedPolicy(settings(), now: 1_893_456_000)
        #expect(examined.inForce?.document.serial == 3)
        #expect(examined.warnings == ["\(directory.path)/policy: cannot be read: No such file or directory"])
    }

    @Test func `a file whose serial is lower than the stored policy's is not taken`() throws {
        try sign(3, to: directory.path + "/cache.policy")
        try sign(2, to: directory.path + "/policy")
        let examined = try ExaminedPolicy(settings(), now: 1_893_456_000)
        #expect(examined.inForce?.document.serial == 3 && examined.warnings.count == 1)
    }

    @Test func `check says the same of the policy as text and as JSON`() throws {
        try sign(3, to: directory.path + "/policy")
        let report = try CheckReport(settings(), file: "httpdnsd.toml", warnings: [])
        let said = try #require(ExaminedPolicy(settings()).text)
        #expect(said.hasPrefix("serial 3, expires 2100-01-02"))
        #expect(report.text.split(separator: "\n").contains("policy    \(said)"))
        let object = try JSONSerialization.jsonObject(with: Data(report.json.utf8)) as? [String: Any]
        #expect(object?["policy"] as? String == said)
    }
}
