public import DNSWire
public import HTTPDNS
import Upstreams

extension Configuration {
    /// One `[[provider]]`, completed with what its type has built in.
    public struct ProviderEntry: SettingsTable {
        /// The kind of service.
        @Setting("type", .choice(), default: "required", shapesAnswers: true) public var type = ProviderType.doh
        /// Unique; the type's own name, then `doh-2` and so on, where none is written.
        @Setting("name", .identifier("name", maximumLength: 32), default: "the type", shapesAnswers: true)
        public var name = ""
        /// Never empty for the types that need one.
        @Setting("account", .identifier("account", maximumLength: 64), shapesAnswers: true) public var account = ""
        /// AliDNS's; empty: none. With `doh-json` there are account, this and secret, or none of them.
        @Setting("access_key_id", .identifier("access key", maximumLength: 64), shapesAnswers: true)
        public var accessKeyID = ""
        /// From `secret` or the file of `secret_file`; nil: requests are not signed.
        @Setting("secret", .secret) public var secret: Secret?
        /// Absolute; empty: none.
        @Setting("secret_file", .path()) public var secretFile = ""
        @Setting("encryption_key", .secret) public var encryptionKey: Secret?
        /// Nil: the type has none, or it has not been read yet.
        @Setting("encryption", .optional(.choice()), default: "by the type", shapesAnswers: true)
        public var encryption: PayloadEncryption?
        /// Which of the type's built-in services is asked.
        @Setting("region", .choice(), shapesAnswers: true) public var region = ProviderRegion.cn
        /// The base of the service; of `doh` and `doh-json` the whole path, of other types the part before the service's own paths.
        @Setting("url", .url, default: "the service's own, where the type has one", shapesAnswers: true)
        public var url = ProviderURL(.https, .address(.v4(0)))
        /// Connect here, in this order. Empty: the URL's name is looked up through LocalDNS (https only).
        @Setting(
            "addresses", .list(of: .server(defaultPort: 0), "list of addresses"),
            default: "the service's own, or the address in url", shapesAnswers: true)
        public var addresses: [AddressAndPort] = []
        /// Where the service is asked for its addresses; empty: nowhere. Only ever set with https.
        @Setting(
            "startup_addresses", .list(of: .server(defaultPort: 0), "list of addresses"), default: "the service's own",
            shapesAnswers: true)
        public var startupAddresses: [AddressAndPort] = []
        /// Certificates are accepted for these, tried in this order; never empty with https.
        @Setting(
            "tls_names", .list(of: .host, "list of host names and IP addresses"),
            default: "the service's own, or the host in url", shapesAnswers: true)
        public var tlsNames: [ProviderHost] = []
        /// Absolute; empty: the system's.
        @Setting("ca_file", .path(), shapesAnswers: true) public var caFile = ""
        @Setting("pin", .list(of: .publicKeyPin, "list of pins"), shapesAnswers: true)
        public var pins: [String] = []
        /// Suffixes it is asked for; empty: all names.
        @Setting("names", .list(of: .suffix, "list of suffixes"), shapesAnswers: true) public var names: [Name] = []
        @Setting("client_subnet", .clientSubnet, shapesAnswers: true) public var clientSubnet = ReportedNetwork.off
        /// Calls a day; 0: no limit.
        @Setting("daily_limit", .integer(in: 0...Int.max)) public var dailyLimit = 0
        /// The same in a month.
        @Setting("monthly_limit", .integer(in: 0...Int.max)) public var monthlyLimit = 0
        /// Whether it may be asked beside another provider that is slow, or only after the others have failed.
        @Setting("hedge", .boolean, default: "false where each question is billed, else true") public var hedge = true
        /// The silence after which an address is probed, and the most time for that; 10 ms to 2 s.
        @Setting("timeout", .duration(in: .milliseconds(10) ... .seconds(2)))
        public var timeout = Duration.milliseconds(900)

        /// The identity of the service and the trust in it.
        public var answerIdentity: String { identity }

        /// Whether its answers are known to come from the service, and now: only over https. What goes over plain http can
        /// be forged or replayed on the path, encrypted or not.
        public var isAuthenticated: Bool { url.scheme == .https }

        /// Whether its calls of a day or of a month have a limit.
        public var isLimited: Bool { dailyLimit > 0 || monthlyLimit > 0 }

        /// Whether each question is billed: by the type, and by AliDNS where there is an account.
        public var isMetered: Bool { type.descriptor.isMetered || type == .dohJSON && !account.isEmpty }

        /// As how many an answer with addresses is billed; 0: the vendor bills none.
        public var unitsOfAnswer: Int {
            isMetered ? type.descriptor.unitsOfAnswer(url.scheme == .https, (encryption ?? .plain) != .plain) : 0
        }
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

extension Kind where Value == ReportedNetwork {
    static var clientSubnet: Kind {
        .text(
            "client subnet", range: "off, client/1 to client/32, or a network",
            expected: "\"off\", \"client/24\" or a network in quotes",
            parse: { text throws(ValueProblem) in
                if text == "off" { return .off }
                if text.hasPrefix("client/"), let bits = AddressAndPort.port(text.dropFirst(7)), (1...32).contains(bits)
                {
                    return .clients(ClientScoping(bits: Int(bits)))
                }
                if text.contains("/"), let prefix = AddressPrefix(text) { return .fixed(prefix) }
                throw ValueProblem("is not \"off\", \"client/24\" or a network such as \"192.0.2.0/24\"")
            })
    }
}
