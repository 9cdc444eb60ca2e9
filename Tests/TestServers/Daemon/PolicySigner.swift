import Foundation
package import TestSupport

/// An operator with a key that signs policies, by the executable's own commands.
package struct PolicySigner: Sendable {
    package let directory: TemporaryDirectory
    /// For `policy.public_key`.
    package let publicKey: String

    /// The path of the private key.
    package var keyFile: String { directory.path + "/policy.key" }

    package init() throws {
        directory = try TemporaryDirectory()
        let outcome = try Daemon.run(["policy", "keygen", directory.path + "/policy.key"])
        guard outcome.status == 0 else { throw TestFailure("no key: \(outcome.errors)") }
        publicKey = outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// A policy with these further lines.
    package static func text(serial: Int, _ lines: String = "") -> String {
        "[document]\nserial = \(serial)\nexpires = 2099-01-31T00:00:00Z\n" + lines
    }

    /// Signs a text.
    ///
    /// - Parameter file: where it is written, in one step; nil: a new file.
    /// - Returns: the path of the signed policy.
    @discardableResult
    package func sign(_ text: String, to file: String? = nil) throws -> String {
        let number = UInt32.random(in: 0...(.max))
        let source = try directory.write(text, to: "\(number).toml")
        let file = file ?? directory.path + "/\(number).policy"
        let outcome = try Daemon.run(["policy", "sign", source, "--key", keyFile, "--output", file])
        guard outcome.status == 0 else { throw TestFailure("not signed: \(outcome.errors)") }
        return file
    }
}
