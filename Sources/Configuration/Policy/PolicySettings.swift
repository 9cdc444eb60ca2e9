import HTTPDNS

/// Where a signed policy is fetched.
public enum PolicyLocation: Hashable, Sendable {
    /// Absolute.
    case file(String)
    case https(ProviderURL)
}

extension PolicyLocation: CustomStringConvertible {
    public var description: String {
        switch self {
        case .file(let path): "file://\(path)"
        case .https(let url): url.description
        }
    }
}

extension Configuration {
    /// `[policy]`: a document signed by an operator, for many machines.
    public struct PolicySettings: SettingsTable {
        /// Nil: none is fetched.
        @Setting("url", .optional(.policyLocation)) public var url: PolicyLocation?
        /// One or two of them are trusted.
        @Setting("public_key", .list(of: .policyKey, "list of keys")) public var keys: [PolicyKey] = []
        /// Between two fetches, 1 s to 1 day.
        @Setting("interval", .duration(in: .seconds(1) ... .seconds(86_400)))
        public var interval = Duration.seconds(300)
        /// Whether an expired document that is in force stays so; else the configuration file alone is in force again.
        @Setting("on_expiry", .choice(among: [("drop", false), ("keep", true)])) public var keepsExpired = false
        /// What a document may be limited to.
        @Setting("labels", .labels) public var labels: [String] = []
        /// Absolute; empty: the system's.
        @Setting("ca_file", .path()) public var caFile = ""

        /// The most keys that are trusted at once: the old one and the new one.
        private static let keyLimit = 2

        func finish(_ keys: TableKeys) {
            if case .https = url { keys.warnOfAuthorities(caFile) }
            guard keys.isUsable("public_key") else { return }
            let trusted = self.keys
            if trusted.count > Self.keyLimit {
                keys.fail("public_key", "has \(trusted.count) keys, and at most \(Self.keyLimit) are trusted at once")
            } else if url != nil, trusted.isEmpty {
                keys.fail(
                    "public_key",
                    "is missing: write the public key that `httpdnsd policy keygen` printed, as in [\"...\"]")
            }
        }
    }

    /// Without a file on disk a restart has no policy until one is fetched.
    func checkPolicy(_ reading: Reading) {
        guard policy.url != nil, cache.disk.path.isEmpty, control.socket.isEmpty else { return }
        reading.warn(
            SettingPath("policy", "url"),
            "the policy is not stored, because cache.disk.path and control.socket are empty: after a restart there is none until it is fetched"
        )
    }
}

extension Kind where Value == PolicyLocation {
    /// Never repeated in an error, because it might have been meant to hold a password.
    fileprivate static var policyLocation: Kind {
        .text(
            "URL", range: "https, or a file",
            expected: "a URL in quotes such as \"https://policy.example.com/httpdnsd.policy\"",
            isShown: false,
            parse: { text throws(ValueProblem) in
                let path = text.hasPrefix("file://") ? String(text.dropFirst("file://".count)) : text
                if path.hasPrefix("/") {
                    guard path.utf8.count <= 4095, !path.utf8.contains(0) else {
                        throw ValueProblem("is longer than 4095 bytes")
                    }
                    return .file(path)
                }
                guard !text.hasPrefix("file:") else { throw ValueProblem("must name an absolute path: file:///...") }
                guard text.lowercased().hasPrefix("https://") else {
                    throw ValueProblem("must begin with https:// or file:///, or be an absolute path")
                }
                return .https(try ProviderURL(text))
            })
    }
}

/// A signed policy as it is stored and sent: a first line with the signature of all bytes after that line.
///
/// `#httpdnsd-policy 1 KEYID SIGNATURE`, a comment of TOML, so that lines are counted in both alike.
public struct PolicyEnvelope: Equatable, Sendable {
    /// The most bytes, the first line included: 4 MiB.
    public static let maximumSize = 4 << 20
    private static let mark = Array("#httpdnsd-policy ".utf8)
    private static let version = "1"
    /// The longest first line, with room to spare.
    private static let longestHeader = 256

    /// Which key has signed, as the first line says.
    public let keyID: String
    /// 64 bytes.
    public let signature: [UInt8]
    /// The signed bytes.
    public let text: ArraySlice<UInt8>

    /// Reads the first line; verifies nothing. Throws the end of a sentence about the file.
    public init(_ bytes: [UInt8]) throws(ValueProblem) {
        if let problem = ValueProblem(of: bytes, limit: Self.maximumSize) { throw problem }
        guard bytes.starts(with: Self.mark) else {
            throw ValueProblem(
                "is not signed: its first line is not #httpdnsd-policy ... (`httpdnsd policy sign` makes it)")
        }
        guard let end = bytes.prefix(Self.longestHeader).firstIndex(of: UInt8(ascii: "\n")) else {
            throw ValueProblem("has a first line without an end")
        }
        let fields = String(decoding: bytes[Self.mark.count..<end], as: UTF8.self)
            .split(separator: " ", omittingEmptySubsequences: false)
        guard fields.first == Self.version[...] else {
            throw ValueProblem("is of another version than \(Self.version), the only one that this release knows")
        }
        guard fields.count == 3, !fields[1].isEmpty, fields[1].utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
            let signature = TextDecoding.base64(String(fields[2])), signature.count == PolicyKey.signatureLength
        else { throw ValueProblem("has a damaged first line; it is #httpdnsd-policy 1 KEYID SIGNATURE") }
        keyID = String(fields[1])
        self.signature = signature
        text = bytes[bytes.index(after: end)...]
    }

    /// The bytes that are signed in a file which may be signed already.
    public static func text(of bytes: [UInt8]) -> ArraySlice<UInt8> {
        guard bytes.starts(with: mark), let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return bytes[...] }
        return bytes[bytes.index(after: end)...]
    }

    /// A file of a text and its signature.
    public static func bytes(_ text: ArraySlice<UInt8>, signature: [UInt8], key: PolicyKey) -> [UInt8] {
        mark + Array("\(version) \(key.id) \(TextEncoding.base64(signature))\n".utf8) + text
    }
}

/// The public key that signed policies are verified with: Ed25519 (RFC 8032).
public struct PolicyKey: Hashable, Sendable {
    /// Bytes of a key, and of a signature.
    public static let (length, signatureLength) = (32, 64)

    /// 32 bytes.
    public let bytes: [UInt8]

    /// Nil unless there are 32 bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// Nil for anything but 32 bytes in base64.
    public init?(_ text: some StringProtocol) {
        guard let bytes = TextDecoding.base64(String(text)) else { return nil }
        self.init(bytes: bytes)
    }

    /// The first 8 characters of its text: enough to tell keys apart, and no more is needed of it.
    public var id: String { String(description.prefix(8)) }
}

extension PolicyKey: CustomStringConvertible {
    /// 44 characters of base64.
    public var description: String { TextEncoding.base64(bytes) }
}

extension Kind where Value == PolicyKey {
    static var policyKey: Kind {
        .text(
            "Ed25519 public key", range: "44 characters of base64", expected: "a public key in quotes",
            parse: { text throws(ValueProblem) in
                if let key = PolicyKey(text) { return key }
                guard let bytes = TextDecoding.base64(text) else {
                    throw ValueProblem("is not base64; write the line that `httpdnsd policy keygen` printed")
                }
                throw ValueProblem(
                    "has \(bytes.count) bytes, and an Ed25519 public key has \(PolicyKey.length); write the line that"
                        + " `httpdnsd policy keygen` printed")
            })
    }
}
