package import DNSWire
package import HTTPDNS

extension Configuration {
    /// One `[[provider]]`, completed with what its type has built in.
    package struct ProviderEntry: SettingsTable {
        /// The kind of service.
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
            Setting("type", \.type, .choice(), default: "required", shapesAnswers: true),
            Setting("name", \.name, .identifier("name", maximumLength: 32), default: "the type", shapesAnswers: true),
            Setting("account", \.account, .identifier("account", maximumLength: 64), shapesAnswers: true),
            Setting("access_key_id", \.accessKeyID, .identifier("access key", maximumLength: 64), shapesAnswers: true),
            Setting("secret", \.secret, .secret),
            Setting("secret_file", \.secretFile, .path()),
            Setting("encryption_key", \.encryptionKey, .secret),
            Setting("encryption", \.encryption, .optional(.choice()), default: "by the type", shapesAnswers: true),
            Setting("region", \.region, .choice(), shapesAnswers: true),
            Setting("url", \.url, .url, default: "the service's own, where the type has one", shapesAnswers: true),
            Setting(
                "addresses", \.addresses, .list(of: .server(defaultPort: 0), "list of addresses"),
                default: "the service's own, or the address in url", shapesAnswers: true),
            Setting(
                "startup_addresses", \.startupAddresses, .list(of: .server(defaultPort: 0), "list of addresses"),
                default: "the service's own", shapesAnswers: true),
            Setting(
                "tls_names", \.tlsNames, .list(of: .host, "list of host names and IP addresses"),
                default: "the service's own, or the host in url", shapesAnswers: true),
            Setting("ca_file", \.caFile, .path(), shapesAnswers: true),
            Setting("pin", \.pins, .list(of: .publicKeyPin, "list of pins"), shapesAnswers: true),
            Setting("names", \.names, .list(of: .suffix, "list of suffixes"), shapesAnswers: true),
            Setting("client_subnet", \.clientSubnet, .clientSubnet, shapesAnswers: true),
            Setting("daily_limit", \.dailyLimit, .integer(in: 0...Int.max)),
            Setting("monthly_limit", \.monthlyLimit, .integer(in: 0...Int.max)),
            Setting("hedge", \.hedge, .boolean, default: "false where each question is billed, else true"),
            Setting("timeout", \.timeout, .duration(in: .milliseconds(10) ... .seconds(2))),
        ]
    }
}

extension Configuration.ProviderEntry {
    /// Fills in the cipher that the type uses, and checks that its key is there and fits. After this the cipher is set for
    /// `aliyun-v2` and `tencent`, and for no other type.
    mutating func completeEncryption(_ keys: TableKeys) {
        guard let choices = type.descriptor.encryptions(region) else {
            for (key, isSet) in [("encryption", encryption != nil), ("encryption_key", encryptionKey != nil)]
            where isSet {
                keys.warn(key, "has no effect: a provider of type \(type.rawValue) encrypts nothing")
            }
            encryption = nil
            return
        }
        guard keys.isSound("encryption") else { return }
        let chosen = encryption ?? type.descriptor.usualEncryption(self)
        guard choices.contains(chosen) else {
            let list = choices.map { quoted($0.rawValue) }.joined(separator: ", ")
            return keys.fail("encryption", "must be one of \(list) for a provider of type \(type.rawValue)")
        }
        encryption = chosen
        guard keys.isUsable("encryption_key") else { return }
        if let encryptionKey {
            chosen.check(encryptionKey, keys)
        } else if chosen != .plain {
            let way = choices.contains(.plain) ? " (or write encryption = \"none\")" : ""
            keys.require(
                "encryption_key", "the account's key for encryption \(quoted(chosen.rawValue))\(way)", of: type)
        }
    }
}

/// How the payload of a request is encrypted.
package enum PayloadEncryption: String, Hashable, Sendable, CaseIterable {
    case plain = "none"
    case cbc, gcm, des, aes
}

extension PayloadEncryption {
    /// Reports a key that does not fit this cipher, or is not used.
    func check(_ key: Secret, _ keys: TableKeys) {
        if let problem = problem(of: key.value) {
            keys.fail("encryption_key", "\(problem) for encryption \(quoted(rawValue))")
        }
        if self == .plain { keys.warn("encryption_key", "has no effect: encryption is \"none\"") }
    }

    /// What is wrong with a key's text for this cipher; nil when it fits.
    private func problem(of key: String) -> String? {
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
