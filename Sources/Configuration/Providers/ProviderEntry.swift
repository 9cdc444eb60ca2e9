package import DNSWire
package import HTTPDNS

extension Configuration {
    /// One `[[provider]]`, completed with what its type has built in.
    package struct ProviderEntry: SettingsTable {
        package var type = ProviderType.doh
        /// Unique; the type's own name, then `doh-2` and so on, where none is written.
        package var name = ""
        /// Never empty for the types that need one.
        package var account = ""
        /// AliDNS's; empty: none. With `doh-json` there are account, this and secret, or none of them.
        package var accessKeyID = ""
        /// From `secret` or the file of `secret_file`; nil: requests are not signed.
        package var secret: Secret?
        /// Absolute; empty: none.
        package var secretFile = ""
        package var encryptionKey: Secret?
        /// Nil: the type has none, or it has not been read yet.
        package var encryption: PayloadEncryption?
        /// Which of the type's built-in services is asked.
        package var region = ProviderRegion.cn
        /// The base of the service; of `doh` and `doh-json` the whole path, of other types the part before the service's own paths.
        package var url = ProviderURL(.https, .address(.v4(0)))
        /// Connect here, in this order. Empty: the URL's name is looked up through LocalDNS (https only).
        package var addresses: [AddressAndPort] = []
        /// Where the service is asked for its addresses; empty: nowhere. Only ever set with https.
        package var startupAddresses: [AddressAndPort] = []
        /// Certificates are accepted for these, tried in this order; never empty with https.
        package var tlsNames: [ProviderHost] = []
        /// Absolute; empty: the system's.
        package var caFile = ""
        package var pins: [PublicKeyPin] = []
        /// Suffixes it is asked for; empty: all names.
        package var names: [Name] = []
        package var clientSubnet = ClientSubnet.off
        /// Calls a day; 0: no limit.
        package var dailyLimit = 0
        /// The same in a month.
        package var monthlyLimit = 0
        /// Whether it may be asked beside another provider that is slow, or only after the others have failed.
        package var hedge = true
        /// The silence after which an address is probed, and the most time for that; 10 ms to 2 s.
        package var timeout = Duration.milliseconds(900)

        package init() {}

        /// Of the service and the trust in it.
        package var answerIdentity: AnswerIdentity { AnswerIdentity(self) }

        /// Whether its answers are known to come from the service, and now: only over https. What goes over plain http can
        /// be forged or replayed on the path, encrypted or not.
        package var isAuthenticated: Bool { url.scheme == .https }

        /// Whether each question is billed: by the type, and by AliDNS where there is an account.
        package var isMetered: Bool { type.descriptor.isMetered || type == .dohJSON && !account.isEmpty }

        /// As how many an answer with addresses is billed; 0: the vendor bills none.
        package var unitsOfAnswer: Int {
            isMetered ? type.descriptor.unitsOfAnswer(url.scheme == .https, (encryption ?? .plain) != .plain) : 0
        }

        static let settings: [Setting<ProviderEntry>] = [
            Setting("type", \.type, .choice(), default: "required", shapesAnswers: true, "The kind of service."),
            Setting(
                "name", \.name, .identifier("name", maximumLength: 32), default: "the type",
                shapesAnswers: true, "What status, logs and query --via call it."),
            Setting(
                "account", \.account, .identifier("account", maximumLength: 64), shapesAnswers: true,
                "The account at the vendor."),
            Setting(
                "access_key_id", \.accessKeyID, .identifier("access key", maximumLength: 64),
                shapesAnswers: true, "The AccessKey ID that the secret belongs to, for AliDNS."),
            Setting(
                "secret", \.secret, .secret, shapesAnswers: false,
                "The account's signing key or token; empty sends unsigned requests."),
            Setting(
                "secret_file", \.secretFile, .path(), shapesAnswers: false,
                "A file that holds the secret, instead of secret."),
            Setting(
                "encryption_key", \.encryptionKey, .secret, shapesAnswers: false, "The key for encrypted requests."),
            Setting(
                "encryption", \.encryption, .optional(.choice()), default: "by the type",
                shapesAnswers: true, "The cipher for encrypted requests."),
            Setting(
                "region", \.region, .choice(), shapesAnswers: true,
                "Which of the vendor's services is asked, where none is written."),
            Setting(
                "url", \.url, .url, default: "the service's own, where the type has one", shapesAnswers: true,
                "The base of the service."),
            Setting(
                "addresses", \.addresses, .list(of: .server(defaultPort: 0), "list of addresses"),
                default: "the service's own, or the address in url", shapesAnswers: true,
                "Where to connect, tried in this order."),
            Setting(
                "startup_addresses", \.startupAddresses, .list(of: .server(defaultPort: 0), "list of addresses"),
                default: "the service's own", shapesAnswers: true,
                "Where the service is asked for the addresses to connect to."),
            Setting(
                "tls_names", \.tlsNames, .list(of: .host, "list of host names and IP addresses"),
                default: "the service's own, or the host in url", shapesAnswers: true,
                "What the service's certificate may be for."),
            Setting(
                "ca_file", \.caFile, .path(), shapesAnswers: true, "Certificates to trust instead of the system's."),
            Setting(
                "pin", \.pins, .list(of: .publicKeyPin, "list of pins"), shapesAnswers: true,
                "Public keys the service must have one of."),
            Setting(
                "names", \.names, .list(of: .suffix, "list of suffixes"), shapesAnswers: true,
                "Names it is asked for; empty means all."),
            Setting(
                "client_subnet", \.clientSubnet, .clientSubnet, shapesAnswers: true,
                "The client network sent to the service."),
            Setting(
                "daily_limit", \.dailyLimit, .integer(in: 0...Int.max), shapesAnswers: false,
                "Calls a day; 0 for no limit."),
            Setting(
                "monthly_limit", \.monthlyLimit, .integer(in: 0...Int.max), shapesAnswers: false,
                "Calls a month; 0 for no limit."),
            Setting(
                "hedge", \.hedge, .boolean, default: "false where each question is billed, else true",
                shapesAnswers: false, "Whether it is asked beside another provider that is slow."),
            Setting(
                "timeout", \.timeout, .duration(in: .milliseconds(10) ... .seconds(2)),
                shapesAnswers: false, "After how long a silent address is probed."),
        ]

        mutating func finish(at path: SettingPath, _ reading: Reading) {
            completeProvider(at: path, reading)
        }
    }
}

extension Configuration.ProviderEntry {
    /// Fills in the cipher that the type uses, and checks that its key is there and fits. After this the cipher is set for
    /// `aliyun-v2` and `tencent`, and for no other type.
    mutating func completeEncryption(at path: SettingPath, _ reading: Reading) {
        let place = path.appending(key: "encryption")
        guard let choices = type.descriptor.encryptions(region) else {
            for (key, isSet) in [("encryption", encryption != nil), ("encryption_key", encryptionKey != nil)]
            where isSet {
                reading.warn(
                    path.appending(key: key), "has no effect: a provider of type \(type.rawValue) encrypts nothing")
            }
            encryption = nil
            return
        }
        guard reading.isSound(place) else { return }
        let chosen = encryption ?? type.descriptor.usualEncryption(self)
        guard choices.contains(chosen) else {
            let list = choices.map { quoted($0.rawValue) }.joined(separator: ", ")
            return reading.fail(place, "must be one of \(list) for a provider of type \(type.rawValue)")
        }
        encryption = chosen
        checkEncryptionKey(for: chosen, at: path, reading)
    }

    private func checkEncryptionKey(for encryption: PayloadEncryption, at path: SettingPath, _ reading: Reading) {
        let place = path.appending(key: "encryption_key")
        guard reading.isSound(place), !reading.isMisspelt(place) else { return }
        guard let key = encryptionKey?.value else {
            guard encryption != .plain else { return }
            let way =
                type.descriptor.encryptions(region)?.contains(.plain) == true ? " (or write encryption = \"none\")" : ""
            return reading.fail(
                place,
                "is missing: a provider of type \(type.rawValue) needs the account's key for encryption \(quoted(encryption.rawValue))\(way)"
            )
        }
        if let problem = encryption.problem(of: key) {
            reading.fail(place, "\(problem) for encryption \(quoted(encryption.rawValue))")
        }
        if encryption == .plain { reading.warn(place, "has no effect: encryption is \"none\"") }
    }
}

/// How the payload of a request is encrypted.
package enum PayloadEncryption: String, Hashable, Sendable, CaseIterable {
    case plain = "none"
    case cbc, gcm, des, aes
}

extension PayloadEncryption {
    /// What is wrong with a key's text for this cipher; nil when it fits.
    func problem(of key: String) -> String? {
        switch self {
        case .plain: nil
        case .cbc, .gcm:
            TextDecoding.hexadecimal(key)?.count == PayloadCipher.aes128GCM.keyLength
                ? nil : "must be 32 hexadecimal digits"
        case .des: key.utf8.count >= PayloadCipher.desECB.keyLength ? nil : "must have at least 8 characters"
        case .aes: key.utf8.count == PayloadCipher.aes128CBC.keyLength ? nil : "must have exactly 16 characters"
        }
    }
}
