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

    /// The service that is asked when the provider has no `url`; nil: a URL must be written.
    var builtInURL: ServiceURL? {
        switch self {
        case .aliyun, .aliyunV2: AliyunService.url
        case .tencent: ServiceURL(.http, .address(.v4(0x771d_1d62)))
        case .tencentHTTPS: ServiceURL(.https, .address(.v4(0x771d_1d63)))
        case .dohJSON, .doh: nil
        }
    }

    /// Where the built-in service is reached.
    var builtInAddresses: [IPAddress] {
        switch self {
        case .aliyun, .aliyunV2: AliyunService.addresses
        case .tencent: TencentService.addresses
        case .tencentHTTPS: TencentService.secureAddresses
        case .dohJSON, .doh: []
        }
    }

    /// What a certificate may be for when the service is at `host` and the file does not say.
    func certificateHosts(at host: ServiceHost) -> [ServiceHost] {
        switch self {
        case .aliyun, .aliyunV2: AliyunService.isAt(host) ? AliyunService.certificateHosts : [host]
        case .tencentHTTPS where host == builtInURL?.host: TencentService.secureAddresses.map { .address($0) }
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

/// Alibaba Cloud's service in mainland China, as help.aliyun.com/document_detail/111585.html and the vendor's SDKs
/// have it.
enum AliyunService {
    static let url = ServiceURL(.https, .address(.v4(0xcb6b_0101)))

    /// Startup addresses; IPv6 last, because the vendor asks to use it only where there is no IPv4.
    static let addresses = [
        "203.107.1.1", "203.107.1.97", "203.107.1.100", "203.119.238.240", "106.11.25.239", "59.82.99.47",
        "2401:b180:7001::31d", "2408:4003:1f40::30a", "2401:b180:2000:20::10", "2401:b180:2000:30::1c",
    ].compactMap { IPAddress($0) }

    /// The documentation names the first, the mobile SDKs check the second whatever address they connect to.
    static let certificateHosts = ["resolvers.httpdns.aliyuncs.com", "203.107.1.1"].compactMap { ServiceHost($0) }

    /// Whether `host` is this service: one of its addresses, or a name of the vendor's.
    static func isAt(_ host: ServiceHost) -> Bool {
        switch host {
        case .address(let address): addresses.contains(address)
        case .name(let name): (try? Name("httpdns.aliyuncs.com")).map { name.isWithin($0) } ?? false
        }
    }
}

/// Tencent Cloud's service, as cloud.tencent.com/document/product/379/54976 has it.
enum TencentService {
    /// For encrypted questions over http.
    static let addresses: [IPAddress] = [.v4(0x771d_1d62), .v4(0x771c_1c62)]

    /// For https. The vendor's SDKs check the certificate against the very address they connect to.
    static let secureAddresses: [IPAddress] = [.v4(0x771d_1d63), .v4(0x771c_1c63)]
}

/// Alibaba Cloud's public resolver, as www.alibabacloud.com/help/en/dns/httpdns-doh-json-api has it.
enum AliDNSService {
    static let addresses = ["223.5.5.5", "223.6.6.6", "2400:3200::1", "2400:3200:baba::1"].compactMap { IPAddress($0) }

    /// Whether `host` is this service: one of its addresses, or a name of the vendor's.
    static func isAt(_ host: ServiceHost) -> Bool {
        switch host {
        case .address(let address): addresses.contains(address)
        case .name(let name): (try? Name("alidns.com")).map { name.isWithin($0) } ?? false
        }
    }
}
