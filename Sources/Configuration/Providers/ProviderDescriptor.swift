import DNSWire

/// What is particular to one type of HTTPDNS service: what is built in, and what its keys must be.
///
/// The types are in the folder `Types`; CONTRIBUTING.md says what a new one takes.
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
    var builtInScheme = ProviderURL.Scheme.https
    /// Where the vendor has services of this type; empty: the type has no regions.
    var regions: [ProviderRegion] = []
    /// The addresses of the built-in service in a region, none where a URL must be written: IPv6 last, for vendors ask to
    /// use it only where there is no IPv4.
    var addresses: @Sendable (ProviderRegion) -> [IPAddress] = { _ in [] }
    /// Whether the service has a call that names the addresses to connect to.
    var namesAddresses = false
    /// The addresses at which the built-in service is asked for its addresses; none where it answers customers alone.
    var startupAddresses: @Sendable (ProviderRegion) -> [IPAddress] = { _ in [] }
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

    /// The service that is asked when the provider has no `url`; nil: a URL must be written.
    func builtInURL(in region: ProviderRegion) -> ProviderURL? {
        addresses(region).first.map { ProviderURL(builtInScheme, .address($0)) }
    }
}

extension ProviderType {
    /// Whether the URL is the whole address that is asked; of other types the service's own paths follow it.
    package var urlIsWhole: Bool { descriptor.usualPath != nil }

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
package enum ProviderType: String, Hashable, Sendable, CaseIterable {
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
package enum ProviderRegion: String, Hashable, Sendable, CaseIterable {
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
