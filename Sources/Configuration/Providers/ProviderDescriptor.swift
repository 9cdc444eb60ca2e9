import DNSWire
import HTTPDNS
import Upstreams

/// What is particular to one type of HTTPDNS service: what is built in, and what its keys must be.
struct ProviderDescriptor: Sendable {
    /// Looks at a provider, and reports what is wrong with some of its keys.
    typealias Check = @Sendable (Configuration.ProviderEntry, TableKeys) -> Void

    /// What `account` holds, for the types that need one.
    var accountExample: (kind: String, text: String)?
    /// Whether each question to the service is billed.
    var isMetered = false
    /// As how many an answer with addresses is billed, by whether it comes over https, and whether it is encrypted.
    var unitsOfAnswer: @Sendable (_ isHTTPS: Bool, _ isEncrypted: Bool) -> Int = { _, _ in 1 }
    /// The path of most services of this type, where the URL is the whole address that is asked; nil: the service's own
    /// paths follow it.
    var usualPath: String?
    /// The scheme of the built-in service.
    var builtInScheme = HTTPOrigin.Scheme.https
    /// The addresses of the built-in services, by region; empty: the type has no regions, and a URL must be written. IPv6 is
    /// last, for vendors ask to use it only where there is no IPv4.
    var addresses: [ProviderRegion: [IPAddress]] = [:]
    /// Whether the service has a call that names the addresses to connect to.
    var namesAddresses = false
    /// Whether the addresses of the built-in service are asked for others; not where it answers customers alone.
    var startsAtAddresses = false
    /// The hosts that a certificate may be for when the service is at this host and the file does not say.
    var certificateHosts: @Sendable (ProviderHost) -> [ProviderHost] = { [$0] }
    /// The ciphers of the service in a region; nil: it has none.
    var encryptions: @Sendable (ProviderRegion) -> [PayloadEncryption]? = { _ in nil }
    /// The cipher where none is written, of a type that has ciphers.
    var usualEncryption: @Sendable (Configuration.ProviderEntry) -> PayloadEncryption = { _ in .plain }
    /// Checks the keys of the account.
    var checkAccount: Check = { _, _ in }
    /// Checks what depends on the URL, once that is known.
    var checkURL: Check = { _, _ in }

    /// Where the vendor has services of this type.
    var regions: [ProviderRegion] { ProviderRegion.allCases.filter { addresses[$0] != nil } }

    /// The service that is asked when the provider has no `url`; nil: a URL must be written.
    func builtInURL(in region: ProviderRegion) -> ProviderURL? {
        addresses[region]?.first.map { ProviderURL(builtInScheme, .address($0)) }
    }
}

extension ProviderType {
    /// Whether the URL is the whole address that is asked; of other types the service's own paths follow it.
    public var urlIsWhole: Bool { descriptor.usualPath != nil }

    /// What is particular to this type.
    var descriptor: ProviderDescriptor {
        switch self {
        case .aliyun: .aliyun
        case .aliyunV2: .aliyunV2
        case .tencent: .tencent
        case .tencentHTTPS: .tencentHTTPS
        case .dohJSON: .dohJSON
        case .doh: .doh
        }
    }
}

extension TableKeys {
    /// Reports a key that a type of provider cannot do without, unless something is wrong with it already.
    func require(_ key: String, _ what: String, of type: ProviderType) {
        guard isUsable(key) else { return }
        fail(key, "is missing: a provider of type \(type.rawValue) needs \(what)")
    }
}

/// The kinds of HTTPDNS service.
public enum ProviderType: String, Hashable, Sendable, CaseIterable {
    /// Alibaba Cloud, `/d` and `/sign_d`.
    case aliyun
    case aliyunV2 = "aliyun-v2"
    case tencent
    case tencentHTTPS = "tencent-https"
    /// DoH with responses in JSON: Google, Cloudflare, AliDNS, DNSPod.
    case dohJSON = "doh-json"
    /// RFC 8484.
    case doh
}

/// Where a vendor has a service of its own.
public enum ProviderRegion: String, Hashable, Sendable, CaseIterable {
    /// Mainland China.
    case cn
    /// Hong Kong.
    case hk
    /// Singapore.
    case sg
    /// Germany.
    case de
    /// The United States.
    case us
    /// Tencent's service outside China.
    case intl
}

extension ProviderDescriptor {
    /// Alibaba Cloud, `/d` and `/sign_d`.
    static let aliyun = aliyun { _, _ in }

    /// Alibaba Cloud's second interface, `/v2`.
    static let aliyunV2: ProviderDescriptor = {
        var descriptor = aliyun { entry, keys in
            guard let secret = entry.secret, TextDecoding.hexadecimal(secret.value) == nil else { return }
            keys.fail(
                entry.secretFile.isEmpty ? "secret" : "secret_file",
                "must be an even number of hexadecimal digits, as the console has it")
        }
        descriptor.encryptions = { _ in [.plain, .cbc, .gcm] }
        // Over https a second encryption adds nothing, but a key that is written is meant to be used.
        descriptor.usualEncryption = { $0.url.scheme == .http || $0.encryptionKey != nil ? .gcm : .plain }
        return descriptor
    }()

    private static func aliyun(checkAccount: @escaping Check) -> ProviderDescriptor {
        ProviderDescriptor(
            accountExample: ("number", "139450"), isMetered: true, unitsOfAnswer: unitsOfAnswer,
            addresses: aliyunAddresses, namesAddresses: true, startsAtAddresses: true,
            certificateHosts: {
                $0.isOf(aliyunAddresses.values.joined(), "httpdns.aliyuncs.com") ? aliyunCertificateHosts : [$0]
            },
            checkAccount: checkAccount)
    }

    /// One of plain http counts 1, of https 5; encryption adds 2 over http and 3 over https
    /// (www.alibabacloud.com/help/en/httpdns/latest/billing).
    @Sendable private static func unitsOfAnswer(isHTTPS: Bool, isEncrypted: Bool) -> Int {
        isHTTPS ? (isEncrypted ? 8 : 5) : (isEncrypted ? 3 : 1)
    }
}

extension ProviderDescriptor {
    /// Startup addresses of Alibaba Cloud's service, as help.aliyun.com/document_detail/111585.html and the vendor's SDKs have
    /// them: they answer questions too, and name those that are nearer.
    private static let aliyunAddresses: [ProviderRegion: [IPAddress]] = [
        .cn: [
            "203.107.1.1", "203.107.1.97", "203.107.1.100", "203.119.238.240", "106.11.25.239", "59.82.99.47",
            "2401:b180:7001::31d", "2408:4003:1f40::30a", "2401:b180:2000:20::10", "2401:b180:2000:30::1c",
        ],
        .hk: ["47.56.234.194", "47.56.119.115", "240b:4000:f10::178", "240b:4000:f10::188"],
        .sg: ["161.117.200.122", "47.74.222.190", "240b:4000:f10::178", "240b:4000:f10::188"],
        .de: ["47.89.80.182", "47.246.146.77", "2404:2280:3000::176", "2404:2280:3000::188"],
        .us: ["47.246.131.175", "47.246.131.141", "2404:2280:4000::2bb", "2404:2280:4000::23e"],
    ].mapValues { $0.compactMap { IPAddress($0) } }

    /// The documentation names the first, the mobile SDKs check the second whatever address they connect to.
    private static let aliyunCertificateHosts =
        ["resolvers.httpdns.aliyuncs.com", "203.107.1.1"].compactMap { ProviderHost($0) }

    /// Alibaba Cloud's public resolver, as www.alibabacloud.com/help/en/dns/httpdns-doh-json-api has it.
    private static let aliDNSAddresses =
        ["223.5.5.5", "223.6.6.6", "2400:3200::1", "2400:3200:baba::1"].compactMap { IPAddress($0) }

    /// Tencent Cloud's service for encrypted questions over http, as cloud.tencent.com/document/product/379/54976 has it;
    /// outside China with DES alone.
    private static let tencentAddresses: [ProviderRegion: [IPAddress]] = [
        .cn: [.v4(0x771d_1d62), .v4(0x771c_1c62)], .intl: [.v4(0x2b84_3737)],
    ]

    /// The same for https. The vendor's SDKs check the certificate against the very address they connect to.
    private static let tencentSecureAddresses: [IPAddress] = [.v4(0x771d_1d63), .v4(0x771c_1c63)]
}

extension ProviderHost {
    /// Whether it is a vendor's service: one of its addresses, or a name of the vendor's.
    fileprivate func isOf(_ addresses: some Sequence<IPAddress>, _ domain: String) -> Bool {
        switch self {
        case .address(let address): addresses.contains(address)
        case .name(let name): (try? Name(domain)).map { name.isWithin($0) } ?? false
        }
    }
}

extension ProviderDescriptor {
    /// RFC 8484.
    static let doh = ProviderDescriptor(
        usualPath: "/dns-query",
        checkAccount: { _, keys in
            for key in ["account", "secret", "secret_file"] where keys.isWritten(key) {
                keys.warn(key, "has no effect: a provider of type doh has no account")
            }
        })

    /// DoH with responses in JSON: Google, Cloudflare, AliDNS, DNSPod.
    static let dohJSON = ProviderDescriptor(
        usualPath: "/resolve",
        checkAccount: { entry, keys in
            // Requests are signed with all three parts of an account at AliDNS, or not at all.
            let parts = [
                ("account", entry.account.isEmpty), ("access_key_id", entry.accessKeyID.isEmpty),
                ("secret", entry.secret == nil),
            ]
            let missing = parts.filter(\.1).map(\.0)
            guard (1..<parts.count).contains(missing.count), keys.isUsable("secret_file") else { return }
            for key in missing where keys.isUsable(key) {
                keys.fail(
                    key, "is missing: AliDNS's account is written with account, access_key_id and secret together")
            }
        },
        checkURL: { entry, keys in
            guard entry.account.isEmpty, entry.url.host.isOf(aliDNSAddresses, "alidns.com"), keys.isSound("account")
            else { return }
            keys.warn(
                "url",
                "AliDNS may refuse requests without an account: write account, access_key_id and secret, or use type doh"
            )
        })
}

extension ProviderDescriptor {
    /// Tencent Cloud over plain http, encrypted with the account's key. Outside China it has no AES.
    static let tencent = ProviderDescriptor(
        accountExample: ("ID", "1001"), isMetered: true, builtInScheme: .http,
        addresses: tencentAddresses, namesAddresses: true,
        encryptions: { $0 == .intl ? [.des] : [.des, .aes] },
        usualEncryption: { $0.region == .intl ? .des : .aes },
        checkAccount: { _, keys in
            for key in ["secret", "secret_file"] where keys.isWritten(key) {
                keys.warn(key, "has no effect: the key of type tencent is encryption_key")
            }
        })

    /// Tencent Cloud over https, with the account's token.
    static let tencentHTTPS = ProviderDescriptor(
        isMetered: true, addresses: [.cn: tencentSecureAddresses], namesAddresses: true,
        certificateHosts: { host in
            let secure = tencentSecureAddresses.map { ProviderHost.address($0) }
            return host == secure.first ? secure : [host]
        },
        checkAccount: { entry, keys in
            if entry.secret == nil, keys.isUsable("secret_file") {
                keys.require("secret", "the account's token", of: entry.type)
            }
        },
        checkURL: { entry, keys in
            guard entry.url.scheme == .http else { return }
            keys.warn("url", "sends the account's token in clear, for anybody on the path to use: write https")
        })
}
