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
