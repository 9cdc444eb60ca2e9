/// Where a signed policy is fetched.
package enum PolicyLocation: Hashable, Sendable {
    /// Absolute.
    case file(String)
    case https(ProviderURL)
}

extension PolicyLocation: CustomStringConvertible {
    package var description: String {
        switch self {
        case .file(let path): "file://\(path)"
        case .https(let url): url.description
        }
    }
}

extension Configuration {
    /// `[policy]`: a document signed by an operator, for many machines.
    package struct PolicySettings: SettingsTable {
        /// What becomes of an expired document that is in force.
        package enum Expiry: String, Hashable, Sendable, CaseIterable {
            /// The configuration file alone is in force again.
            case drop
            case keep
        }

        /// Nil: none is fetched.
        package var url: PolicyLocation?
        /// One or two of them are trusted.
        package var keys: [PolicyKey] = []
        /// Between two fetches, 1 s to 1 day.
        package var interval = Duration.seconds(300)
        package var onExpiry = Expiry.drop
        /// What a document may be limited to.
        package var labels: [String] = []
        /// Absolute; empty: the system's.
        package var caFile = ""

        package init() {}

        /// The most keys that are trusted at once: the old one and the new one.
        private static let keyLimit = 2

        static let settings: [Setting<PolicySettings>] = [
            Setting("url", \.url, .optional(.policyLocation)),
            Setting("public_key", \.keys, .list(of: .policyKey, "list of keys")),
            Setting("interval", \.interval, .duration(in: .seconds(1) ... .seconds(86_400))),
            Setting("on_expiry", \.onExpiry, .choice()),
            Setting("labels", \.labels, .labels),
            Setting("ca_file", \.caFile, .path()),
        ]

        func finish(_ keys: TableKeys) {
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
        guard policy.url != nil, cache.disk.path.isEmpty else { return }
        reading.warn(
            SettingPath("policy", "url"),
            "the policy is not stored, because cache.disk.path is empty: after a restart there is none until it is fetched"
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
            }, write: { written($0.description) })
    }
}
