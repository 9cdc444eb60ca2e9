import Configuration
import Foundation
import Glibc
import Testing

/// Warnings of secrets that every user of the machine can read or change.
struct ExposedSecretTests {
    private let folder = NSTemporaryDirectory() + "exposed-\(UInt64.random(in: 0...(.max)))"

    private func write(_ text: String, to name: String, mode: mode_t) throws -> String {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = folder + "/" + name
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(chmod(path, mode) == 0 && chmod(folder, 0o755) == 0)
        return path
    }

    private func warnings(
        _ text: String, mode: mode_t, _ variables: Variables = Variables(process: [:])
    ) throws -> [String] {
        let path = try write(text, to: "httpdnsd.toml", mode: mode)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try Configuration.load(path: path, variables).warnings.map(\.description)
            .filter { $0.contains("every user") }.map { $0.replacing(folder + "/", with: "") }
    }

    private static let key = String(repeating: "0123456789abcdef", count: 4)
    private static let vendor = """
        [[provider]]
        type = "aliyun"
        account = "100001"
        url = "https://192.0.2.1"
        addresses = ["192.0.2.1"]
        tls_names = ["a.example"]

        """

    @Test(arguments: [
        (vendor + "secret = \"0123456789abcdef0123456789abcdef\"", "provider[1].secret"),
        (minimal + "[[account]]\nid = \"app\"\nsecret = \"0123456789abcdef\"", "account[1].secret"),
        (minimal + "[cache.shared]\nurl = \"redis://127.0.0.1\"\nkey = \"\(key)\"", "cache.shared.key"),
        (minimal + "[cache.shared]\nurl = \"redis://:word@127.0.0.1\"\nkey = \"${KEY}\"", "cache.shared.url"),
        (minimal + "[listen]\ntokens = [\"0123456789abcdef\"]", "listen.tokens"),
        (minimal + "[listen]\ncookie_secrets = [\"0123456789abcdef0123456789abcdef\"]", "listen.cookie_secrets"),
    ])
    func `a configuration with a secret in it is for its owner and group alone`(text: String, key: String) throws {
        let variables = Variables(process: ["KEY": Self.key])
        let found = try warnings(text, mode: 0o644, variables)
        #expect(found.count == 1)
        #expect(
            found.first?.hasPrefix("httpdnsd.toml: holds secrets, such as \(key)") == true
                && found.first?.contains("can be read by every user") == true, "\(found)")
        #expect(found.allSatisfy { !$0.contains("0123456789") && !$0.contains("word") })
        #expect(try warnings(text, mode: 0o640, variables) == [])
        #expect(try warnings(text, mode: 0o600, variables) == [])
    }

    @Test func `one whose secrets are variables may be read, and not changed`() throws {
        let text = Self.vendor + "secret = \"${SECRET}\""
        let variables = Variables(process: ["SECRET": "0123456789abcdef0123456789abcdef"])
        #expect(try warnings(text, mode: 0o644, variables) == [])
        #expect(
            try warnings(text, mode: 0o646, variables).first?.contains("can be read and changed by every user") == true)
        #expect(try warnings(minimal, mode: 0o644) == [])
    }

    @Test func `the file of a secret is for its owner and group alone`() throws {
        for (mode, count) in [(0o600, 0), (0o440, 0), (0o444, 1), (0o622, 1)] as [(mode_t, Int)] {
            let secret = try write("0123456789abcdef0123456789abcdef\n", to: "secret", mode: mode)
            let found = try warnings(Self.vendor + "secret_file = \"\(secret)\"", mode: 0o644)
            #expect(
                found.count == count && found.allSatisfy { $0.contains("provider[1].secret_file: the file can be") })
        }
    }

    @Test func `the file of the variables is for its owner and group alone`() throws {
        for (mode, count) in [(0o600, 0), (0o644, 1)] as [(mode_t, Int)] {
            let file = try write("A=b\n", to: "environment", mode: mode)
            #expect(try warnings(minimal, mode: 0o644, Variables(process: [:], file: file)).count == count)
        }
    }
}
