import Admin
import ArgumentParser
import Configuration
import Glibc
import HTTPDNS
import Platform
import Upstreams

/// `httpdnsd policy`: documents that an operator signs for many machines.
struct PolicyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Makes keys, signs policies for many machines, and shows the one in force.",
        discussion: """
            A policy is a text in TOML: [document] with serial and expires, and any of route.protect, route.bypass, \
            preset.always, preset.last_resort and answers.bogus. Documentation/Policy.md has the whole procedure.
            """,
        subcommands: [Keygen.self, Sign.self, Verify.self, Show.self])

    fileprivate static func read(
        _ path: String, limit: Int = PolicyEnvelope.maximumSize + 1
    ) throws(CommandFailure) -> [UInt8] {
        do throws(SystemError) {
            return try readFile(path, limit: limit, waits: true)
        } catch {
            throw CommandFailure("\(path): cannot be read: \(error.reason)")
        }
    }

    /// What a policy says, a line each.
    fileprivate static func text(of policy: SignedPolicy) -> VisibleText {
        let document = policy.document
        let changes = policy.changes.isEmpty ? ["changes nothing"] : policy.changes
        let lines = ["serial \(document.serial), expires \(document.expiryText)"] + changes
        return VisibleText(lines: lines.joined(separator: "\n  "))
    }
}

extension PolicyDocument {
    /// Such as `2030-01-31T00:00:00Z`.
    var expiryText: String { UTCTime(milliseconds: expires * 1_000).description.replacing(".000Z", with: "Z") }
}

extension PolicyCommand {
    /// `httpdnsd policy keygen FILE`
    struct Keygen: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "keygen",
            abstract: "Makes a key that signs policies, and prints its public key for policy.public_key.",
            discussion: "The file is readable by its owner alone (mode 0600). One that is there is never overwritten.")

        @Argument(help: "Where the private key is stored; it never leaves the machine on which policies are signed.")
        var file: String

        func run() throws { show("\(try PolicySecretKey.make(file).publicKey)") }
    }

    /// `httpdnsd policy sign FILE`
    struct Sign: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "sign", abstract: "Checks a policy and signs it: prints the file that machines fetch.",
            discussion: """
                The text is checked as machines will, and one with a mistake is not signed. A file that is signed already \
                is signed again.
                """)

        @Argument(help: "The policy.", completion: .file())
        var file: String

        @Option(help: .init("The private key, as `policy keygen` made it.", valueName: "file"), completion: .file())
        var key: String

        @Option(
            help: .init("Write the signed policy here, a file in one step, instead of printing it.", valueName: "file"),
            completion: .file())
        var output: String?

        func run() throws {
            let text = PolicyEnvelope.text(of: try PolicyCommand.read(file))
            let policy: SignedPolicy
            do throws(ConfigurationError) {
                policy = try SignedPolicy.parse(Array(text), file: file)
            } catch {
                throw CommandFailure(error.lines)
            }
            let key = try PolicySecretKey.read(self.key)
            guard policy.document.expires > Int64(time(nil)) else {
                throw CommandFailure(
                    "\(file): document.expires is over, so that no machine would take it: write a later one")
            }
            guard let signed = key.signed(text), signed.count <= PolicyEnvelope.maximumSize else {
                throw CommandFailure("\(file): cannot be signed: too large, or libcrypto has no Ed25519")
            }
            if let output { try writeOutput(output, signed, mode: 0o644) } else { showDocument(signed) }
            printError("signed with the key \(key.publicKey.id): \(PolicyCommand.text(of: policy))")
        }
    }

    /// `httpdnsd policy verify FILE`
    struct Verify: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract: "Says whether machines would take a signed policy, and what it would change.",
            discussion: """
                By the keys of the configuration's policy.public_key, or those that are named. Exit status 1: it would be \
                refused.
                """)

        @OptionGroup var configuration: ConfigurationFile

        @Argument(help: "The signed policy.", completion: .file())
        var file: String

        @Option(
            name: .customLong("public-key"),
            help: .init("Trust this key instead of the configuration's; may be repeated.", valueName: "key"))
        var keys: [String] = []

        func validate() throws {
            for text in keys where PolicyKey(text) == nil {
                throw ValidationError("--public-key \(text): not the 44 characters that `policy keygen` prints")
            }
        }

        func run() throws {
            let bytes = try PolicyCommand.read(file)
            let policy: SignedPolicy
            do {
                let named = keys.compactMap { PolicyKey($0) }
                let trusted = named.isEmpty ? try configuration.tables(["policy"]).policy.keys : named
                guard !trusted.isEmpty else {
                    throw CommandFailure(
                        "\(configuration.path): policy.public_key: is empty: name one with --public-key")
                }
                policy = try SignedPolicy.open(bytes, file: file, keys: trusted, check: PolicyKey.check)
            } catch let error as ConfigurationError {
                throw CommandFailure(error.lines)
            }
            show("\(file) is good: \(PolicyCommand.text(of: policy))")
            guard policy.document.expires > Int64(time(nil)) else {
                throw CommandFailure("\(file): has expired: no machine takes it")
            }
        }
    }
}

extension PolicyCommand {
    /// `httpdnsd policy show`
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Shows the policy in force in the running server, what it changes, and how its fetches go.")

        @OptionGroup var control: ControlOptions

        func run() throws { try control.run("/v1/policy") }
    }
}

/// The key that signs policies, in a file that only its owner can read: one line of base64, the private key and then the
/// public one, so that a public key is not taken for a private one.
struct PolicySecretKey {
    /// Longer files are no keys.
    private static let longest = 256

    private let bytes: [UInt8]
    let publicKey: PolicyKey

    private init?(bytes: [UInt8]) {
        guard let key = Ed25519.publicKey(of: bytes).flatMap({ PolicyKey(bytes: $0) }) else { return nil }
        self.bytes = bytes
        publicKey = key
    }

    /// Makes a key and its file, mode 0600, which must not be there yet.
    static func make(_ path: String) throws(SystemError) -> PolicySecretKey {
        guard let bytes = Ed25519.newKey(), let key = PolicySecretKey(bytes: bytes) else {
            throw SystemError(code: ENOSYS, operation: "make a key", advice: "libcrypto has no Ed25519")
        }
        do throws(SystemError) {
            let content = TextEncoding.base64(bytes + key.publicKey.bytes) + "\n"
            try createFile(path, Array(content.utf8), mode: 0o600)
        } catch {
            guard error.code == EEXIST else { throw error }
            throw SystemError(code: EEXIST, operation: error.operation, advice: "a key is never overwritten")
        }
        return key
    }

    /// Reads a key from its file. Throws one line for people.
    static func read(_ path: String) throws(CommandFailure) -> PolicySecretKey {
        let content = try PolicyCommand.read(path, limit: longest)
        guard let bytes = TextDecoding.base64(String(decoding: content, as: UTF8.self)),
            let key = PolicySecretKey(bytes: Array(bytes.prefix(bytes.count / 2))),
            bytes.suffix(bytes.count / 2).elementsEqual(key.publicKey.bytes)
        else { throw CommandFailure("\(path): holds no private key; `httpdnsd policy keygen` makes one") }
        return key
    }

    /// A signed file of a text; nil when the library has no Ed25519.
    func signed(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        Ed25519.signature(of: text, privateKey: bytes).map {
            PolicyEnvelope.bytes(text, signature: $0, key: publicKey)
        }
    }
}

extension PolicyKey {
    /// Whether a signature of `text` is of `key`; safe to call from any thread.
    @Sendable static func check(_ text: ArraySlice<UInt8>, _ signature: [UInt8], _ key: PolicyKey) -> Bool {
        Ed25519.isValid(signature, of: text, publicKey: key.bytes)
    }
}
