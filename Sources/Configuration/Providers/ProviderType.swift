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
