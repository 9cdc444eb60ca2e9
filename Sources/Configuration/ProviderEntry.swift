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
        /// Nil: the type has none, or has not been told yet.
        package var encryption: PayloadEncryption?
        /// Which of the type's built-in services is asked.
        package var region = ServiceRegion.cn
        /// The base of the service; of `doh` and `doh-json` the whole path, of other types the part before the service's own paths.
        package var url = ServiceURL(.https, .address(.v4(0)))
        /// Connect here, in this order. Empty: the URL's name is looked up through LocalDNS (https only).
        package var addresses: [Endpoint] = []
        /// Where the service is asked for its addresses; empty: nowhere. Only ever set with https.
        package var startupAddresses: [Endpoint] = []
        /// Certificates are accepted for these, tried in this order; never empty with https.
        package var tlsNames: [ServiceHost] = []
        /// Absolute; empty: the system's.
        package var caFile = ""
        package var pins: [PublicKeyPin] = []
        /// Suffixes it is asked for; empty: all names.
        package var names: [Name] = []
        package var clientSubnet = ClientSubnet.off
        /// Whether type `tencent` encrypts it like the names.
        package var clientSubnetEncrypted = true
        /// Billable calls a day; 0: no limit.
        package var dailyLimit = 0
        /// From dispatch of one attempt; 10 ms to 10 s.
        package var timeout = Duration.seconds(1)

        package init() {}

        /// Whether its answers are proven to come from the service: by https, or by GCM, whose tag only the account's key
        /// makes. Anything else that goes over plain http can be forged on the path, encrypted or not.
        package var isAuthenticated: Bool { url.scheme == .https || encryption == .gcm }

        /// Whether each question is billed: by the type, and by AliDNS to whoever has an account there.
        var isMetered: Bool { type.isMetered || type == .dohJSON && !account.isEmpty }

        static let settings: [Setting<ProviderEntry>] = [
            Setting("type", \.type, .choice(), default: "required", "The kind of service."),
            Setting(
                "name", \.name, .identifier("name", maximumLength: 32), default: "the type",
                "What status, logs and query --via call it."),
            Setting("account", \.account, .identifier("account", maximumLength: 64), "The account at the vendor."),
            Setting(
                "access_key_id", \.accessKeyID, .identifier("access key", maximumLength: 64),
                "The AccessKey ID that the secret belongs to, for AliDNS."),
            Setting("secret", \.secret, .secret, "The account's signing key or token; empty sends unsigned requests."),
            Setting("secret_file", \.secretFile, .path(), "A file that holds the secret, instead of secret."),
            Setting("encryption_key", \.encryptionKey, .secret, "The key for encrypted requests."),
            Setting(
                "encryption", \.encryption, .optional(.choice()), default: "by the type",
                "The cipher for encrypted requests."),
            Setting("region", \.region, .choice(), "Which of the vendor's services is asked, where none is written."),
            Setting(
                "url", \.url, .url, default: "the service's own, where the type has one", "The base of the service."),
            Setting(
                "addresses", \.addresses, .list(of: .server(defaultPort: 0), "list of addresses"),
                default: "the service's own, or the address in url", "Where to connect, tried in this order."),
            Setting(
                "startup_addresses", \.startupAddresses, .list(of: .server(defaultPort: 0), "list of addresses"),
                default: "the service's own", "Where the service is asked for the addresses to connect to."),
            Setting(
                "tls_names", \.tlsNames, .list(of: .host, "list of host names and IP addresses"),
                default: "the service's own, or the host in url", "What the service's certificate may be for."),
            Setting("ca_file", \.caFile, .path(), "Certificates to trust instead of the system's."),
            Setting(
                "pin", \.pins, .list(of: .publicKeyPin, "list of pins"), "Public keys the service must have one of."),
            Setting(
                "names", \.names, .list(of: .suffix, "list of suffixes"), "Names it is asked for; empty means all."),
            Setting("client_subnet", \.clientSubnet, .clientSubnet, "The client network told to the service."),
            Setting(
                "client_subnet_encrypted", \.clientSubnetEncrypted, .boolean,
                "Whether type tencent encrypts the client network."),
            Setting("daily_limit", \.dailyLimit, .integer(in: 0...Int.max), "Billable calls a day; 0 for no limit."),
            Setting(
                "timeout", \.timeout, .duration(in: .milliseconds(10) ... .seconds(10)),
                "How long one attempt may take."),
        ]

        mutating func finish(at path: SettingPath, _ reading: Reading) {
            completeProvider(at: path, reading)
        }
    }
}

/// How the payload of a request is encrypted.
package enum PayloadEncryption: String, Hashable, Sendable, CaseIterable {
    case plain = "none"
    case cbc, gcm, des, aes
}

/// The client network that a provider is told.
package enum ClientSubnet: Hashable, Sendable, CustomStringConvertible {
    case off
    /// This many leading bits of each client's address, 1 to 32.
    case client(bits: Int)
    /// The same network for all clients.
    case fixed(AddressPrefix)

    /// As the file has it.
    package var description: String {
        switch self {
        case .off: "off"
        case .client(let bits): "client/\(bits)"
        case .fixed(let prefix): prefix.description
        }
    }
}

/// SHA-256 of a public key (SPKI): `sha256//` and base64, as curl and browsers write pins.
package struct PublicKeyPin: Hashable, Sendable, CustomStringConvertible {
    /// `sha256//` and 44 characters of base64.
    package let description: String

    /// Nil for text of another form.
    package init?(_ text: String) {
        let digest = text.dropFirst("sha256//".count)
        // 32 bytes are 43 characters and one of padding; the last character then carries 4 bits, and 2 that are zero.
        guard text.hasPrefix("sha256//"), digest.utf8.count == 44, digest.hasSuffix("="),
            digest.dropLast().utf8.allSatisfy({
                (isBareKeyByte($0) && !"-_".utf8.contains($0)) || "+/".utf8.contains($0)
            }),
            let last = digest.dropLast().last, "AEIMQUYcgkosw048".contains(last)
        else { return nil }
        description = text
    }
}

extension Kind where Value == PublicKeyPin {
    static var publicKeyPin: Kind {
        .text(
            "pin", expected: "a pin in quotes such as \"sha256//...\"",
            parse: { text throws(ValueProblem) in
                guard let pin = PublicKeyPin(text) else {
                    throw ValueProblem("is not a pin; write sha256// and the base64 of the SHA-256 of the public key")
                }
                return pin
            }, write: { quoted($0.description) })
    }
}

extension Kind where Value == ClientSubnet {
    static var clientSubnet: Kind {
        .text(
            "client subnet", range: "off, client/1 to client/32, or a network",
            expected: "\"off\", \"client/24\" or a network in quotes",
            parse: { text throws(ValueProblem) in
                if text == "off" { return .off }
                if text.hasPrefix("client/"), let bits = Endpoint.port(text.dropFirst(7)), (1...32).contains(bits) {
                    return .client(bits: Int(bits))
                }
                if text.contains("/"), let prefix = AddressPrefix(text) { return .fixed(prefix) }
                throw ValueProblem("is not \"off\", \"client/24\" or a network such as \"192.0.2.0/24\"")
            },
            write: { quoted($0.description) })
    }
}
