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
            Setting(
                "url", \.url, .sharedCacheURL, shapesAnswers: false,
                "The Redis in which servers share answers; empty shares none."),
            Setting(
                "key", \.key, .secret, default: "required with url", shapesAnswers: false,
                "The fleet's secret: 32 bytes in hexadecimal or base64, the same on every server."),
            Setting(
                "key_file", \.keyFile, .path(), shapesAnswers: false, "A file that holds the key, instead of key."),
            Setting(
                "prefix", \.prefix, .keyPrefix, shapesAnswers: false, "What every name in Redis begins with."),
            Setting(
                "timeout", \.timeout, .duration(in: .milliseconds(1) ... .milliseconds(500)), shapesAnswers: false,
                "How long one look-up there may take."),
            Setting(
                "lease", \.lease, .boolean, shapesAnswers: false,
                "Whether one server asks for all, and the others wait up to 300 ms for its answer."),
            Setting(
                "limits", \.limits, .boolean, shapesAnswers: false,
                "Whether daily_limit and monthly_limit hold for all servers together."),
            Setting(
                "ca_file", \.caFile, .path(), shapesAnswers: false,
                "Certificates to trust instead of the system's, with rediss."),
        ]

        mutating func finish(at path: SettingPath, _ reading: Reading) {
            guard let url else {
                guard reading.isSound(path.appending(key: "url")) else { return }
                if self != SharedCache() { reading.warn(path, "has no effect: there is no \(path).url") }
                return
            }
            readKey(at: path, reading)
            let place = path.appending(key: "url")
            if url.password != nil, let text = reading.writtenText(of: place) {
                reading.noteSecret(place, WrittenText(value: text, written: text))
            }
            guard case .host(let host, _, let usesTLS) = url.place else { return warnOfCAFile(at: path, reading) }
            if !usesTLS {
                warnOfCAFile(at: path, reading)
                if url.password != nil, !host.isLoopback {
                    reading.warn(
                        path.appending(key: "url"),
                        "sends the password unencrypted: write rediss:// where the server has TLS")
                }
            }
        }

        private func warnOfCAFile(at path: SettingPath, _ reading: Reading) {
            guard !caFile.isEmpty else { return }
            reading.warn(path.appending(key: "ca_file"), "has no effect: only a URL with rediss:// uses certificates")
        }

        private mutating func readKey(at path: SettingPath, _ reading: Reading) {
            let (place, file) = (path.appending(key: "key"), path.appending(key: "key_file"))
            reading.complete(&key, from: keyFile, in: path, key: "key")
            guard reading.isSound(place), reading.isSound(file) else { return }
            guard let key else {
                return reading.fail(
                    place,
                    "is missing: write the fleet's secret, 32 bytes that `openssl rand -hex 32` makes, as a variable such as"
                        + " \"${HTTPDNSD_SHARED_KEY}\"")
            }
            let length = (TextDecoding.hexadecimal(key.value) ?? TextDecoding.base64(key.value))?.count
            guard length != 32 else { return }
            let what = length.map { "has \($0) bytes" } ?? "is neither hexadecimal nor base64"
            reading.fail(
                keyFile.isEmpty ? place : file, "\(what): it must be 32 bytes, as `openssl rand -hex 32` makes them")
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
