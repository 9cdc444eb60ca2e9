import DNSWire
package import HTTPDNS

extension Configuration {
    /// `[cache.shared]`.
    package struct SharedCache: SettingsTable {
        /// Nil: nothing is shared.
        package var url: SharedCacheURL?
        /// From `key` or the file of `key_file`: 32 bytes, in a form that `keyLength` has checked.
        package var key: Secret?
        /// Absolute; empty: none.
        package var keyFile = ""
        package var prefix = "httpdnsd:"
        /// Of one look-up; 1 ms to 500 ms.
        package var timeout = Duration.milliseconds(50)
        package var lease = true
        /// Whether `daily_limit` and `monthly_limit` hold for all servers together.
        package var limits = false
        /// Absolute; empty: the system's.
        package var caFile = ""

        package init() {}

        static let settings: [Setting<SharedCache>] = [
            Setting("url", \.url, .sharedCacheURL),
            Setting("key", \.key, .secret, default: "required with url"),
            Setting("key_file", \.keyFile, .path()),
            Setting("prefix", \.prefix, .keyPrefix),
            Setting("timeout", \.timeout, .duration(in: .milliseconds(1) ... .milliseconds(500))),
            Setting("lease", \.lease, .boolean),
            Setting("limits", \.limits, .boolean),
            Setting("ca_file", \.caFile, .path()),
        ]

        mutating func finish(_ keys: TableKeys) {
            guard let url else {
                guard keys.isSound("url"), self != SharedCache() else { return }
                return keys.reading.warn(keys.path, "has no effect: there is no \(keys.path).url")
            }
            readKey(keys)
            if url.password != nil, let text = keys.reading.writtenText(of: keys["url"]) {
                keys.reading.noteSecret(keys["url"], WrittenText(value: text, written: text))
            }
            if case .host(_, _, usesTLS: true) = url.place { return }
            if !caFile.isEmpty { keys.warn("ca_file", "has no effect: only a URL with rediss:// uses certificates") }
            if case .host(let host, _, _) = url.place, url.password != nil, !host.isLoopback {
                keys.warn("url", "sends the password unencrypted: write rediss:// where the server has TLS")
            }
        }

        private mutating func readKey(_ keys: TableKeys) {
            keys.complete(&key, from: keyFile, key: "key")
            guard keys.isSound("key"), keys.isSound("key_file") else { return }
            guard let key else {
                return keys.fail(
                    "key",
                    "is missing: write the fleet's secret, 32 bytes that `openssl rand -hex 32` makes, as a variable such as"
                        + " \"${HTTPDNSD_SHARED_KEY}\"")
            }
            let length = (TextDecoding.hexadecimal(key.value) ?? TextDecoding.base64(key.value))?.count
            guard length != 32 else { return }
            let what = length.map { "has \($0) bytes" } ?? "is neither hexadecimal nor base64"
            keys.fail(
                keyFile.isEmpty ? "key" : "key_file",
                "\(what): it must be 32 bytes, as `openssl rand -hex 32` makes them")
        }
    }
}

extension ProviderHost {
    fileprivate var isLoopback: Bool {
        switch self {
        case .name(let name): "\(name)" == "localhost"
        case .address(let address): address.isLoopback
        }
    }
}

extension Kind where Value == String {
    /// What names in Redis begin with: up to 64 characters without blanks.
    fileprivate static var keyPrefix: Kind {
        .text(
            "text", range: "up to 64 characters", expected: "a text in quotes such as \"httpdnsd:\"",
            parse: { text throws(ValueProblem) in
                guard text.utf8.count <= 64, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
                    throw ValueProblem("must be up to 64 visible ASCII characters, without blanks")
                }
                return text
            }, write: { written($0) })
    }
}
