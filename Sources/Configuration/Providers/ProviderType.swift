import DNSWire

/// The kinds of HTTPDNS service.
package enum ProviderType: String, Hashable, Sendable, CaseIterable {
    /// Alibaba Cloud, `/d` and `/sign_d`.
    case aliyun
    case aliyunV2 = "aliyun-v2"
    case tencent
    case tencentHTTPS = "tencent-https"
    /// DoH with replies in JSON: Google, Cloudflare, AliDNS, DNSPod.
    case dohJSON = "doh-json"
    /// RFC 8484.
    case doh

    /// Whether the URL is the whole address that is asked; of other types the service's own paths follow it.
    package var urlIsWhole: Bool { usualPath != nil }

    /// Where most services of this type are, for those whose URL is whole.
    var usualPath: String? {
        switch self {
        case .dohJSON: "/resolve"
        case .doh: "/dns-query"
        case .aliyun, .aliyunV2, .tencent, .tencentHTTPS: nil
        }
    }

    /// Whether each question to the service is billed.
    var isMetered: Bool {
        switch self {
        case .aliyun, .aliyunV2, .tencent, .tencentHTTPS: true
        case .dohJSON, .doh: false
        }
    }

    /// Where the vendor has services of this type; empty: the type has no regions.
    var regions: [ServiceRegion] {
        switch self {
        case .aliyun, .aliyunV2: [.cn, .hk, .sg, .de, .us]
        case .tencent: [.cn, .intl]
        case .tencentHTTPS: [.cn]
        case .dohJSON, .doh: []
        }
    }

    /// The service that is asked when the provider has no `url`; nil: a URL must be written.
    func builtInURL(in region: ServiceRegion) -> ServiceURL? {
        builtInAddresses(in: region).first.map { ServiceURL(self == .tencent ? .http : .https, .address($0)) }
    }

    /// Where the built-in service is reached: IPv6 last, for vendors ask to use it only where there is no IPv4.
    func builtInAddresses(in region: ServiceRegion) -> [IPAddress] {
        switch self {
        case .aliyun, .aliyunV2: BuiltInAliyun.addresses(in: region)
        case .tencent: BuiltInTencent.addresses(in: region)
        case .tencentHTTPS: region == .cn ? BuiltInTencent.secureAddresses : []
        case .dohJSON, .doh: []
        }
    }

    /// Whether the service has a call that names the addresses to connect to.
    var namesAddresses: Bool {
        switch self {
        case .aliyun, .aliyunV2, .tencent, .tencentHTTPS: true
        case .dohJSON, .doh: false
        }
    }

    /// Where the built-in service is asked for its addresses. Tencent gives such addresses only to its customers.
    func builtInStartupAddresses(in region: ServiceRegion) -> [IPAddress] {
        switch self {
        case .aliyun, .aliyunV2: BuiltInAliyun.addresses(in: region)
        case .tencent, .tencentHTTPS, .dohJSON, .doh: []
        }
    }

    /// What a certificate may be for when the service is at `host` and the file does not say.
    func certificateHosts(at host: ServiceHost) -> [ServiceHost] {
        switch self {
        case .aliyun, .aliyunV2: BuiltInAliyun.isAt(host) ? BuiltInAliyun.certificateHosts : [host]
        case .tencentHTTPS where host == builtInURL(in: .cn)?.host: BuiltInTencent.secureAddresses.map { .address($0) }
        case .tencent, .tencentHTTPS, .dohJSON, .doh: [host]
        }
    }

    /// What `account` holds, for the types that need one.
    var accountExample: (kind: String, text: String)? {
        switch self {
        case .aliyun, .aliyunV2: ("number", "139450")
        case .tencent: ("ID", "1001")
        case .tencentHTTPS, .dohJSON, .doh: nil
        }
    }
}
