import DNSWire

/// Alibaba Cloud's service, as help.aliyun.com/document_detail/111585.html and the vendor's SDKs have it.
enum BuiltInAliyun {
    /// Startup addresses: they answer questions too, and name those that are nearer.
    static func addresses(in region: ServiceRegion) -> [IPAddress] {
        let texts: [String] =
            switch region {
            case .cn:
                [
                    "203.107.1.1", "203.107.1.97", "203.107.1.100", "203.119.238.240", "106.11.25.239", "59.82.99.47",
                    "2401:b180:7001::31d", "2408:4003:1f40::30a", "2401:b180:2000:20::10", "2401:b180:2000:30::1c",
                ]
            case .hk: ["47.56.234.194", "47.56.119.115", "240b:4000:f10::178", "240b:4000:f10::188"]
            case .sg: ["161.117.200.122", "47.74.222.190", "240b:4000:f10::178", "240b:4000:f10::188"]
            case .de: ["47.89.80.182", "47.246.146.77", "2404:2280:3000::176", "2404:2280:3000::188"]
            case .us: ["47.246.131.175", "47.246.131.141", "2404:2280:4000::2bb", "2404:2280:4000::23e"]
            case .intl: []
            }
        return texts.compactMap { IPAddress($0) }
    }

    /// The documentation names the first, the mobile SDKs check the second whatever address they connect to.
    static let certificateHosts = ["resolvers.httpdns.aliyuncs.com", "203.107.1.1"].compactMap { ServiceHost($0) }

    /// Whether `host` is this service: one of its addresses, or a name of the vendor's.
    static func isAt(_ host: ServiceHost) -> Bool {
        switch host {
        case .address(let address): ServiceRegion.allCases.contains { addresses(in: $0).contains(address) }
        case .name(let name): (try? Name("httpdns.aliyuncs.com")).map { name.isWithin($0) } ?? false
        }
    }
}

/// Tencent Cloud's service, as cloud.tencent.com/document/product/379/54976 has it.
enum BuiltInTencent {
    /// For encrypted questions over http; outside China with DES alone.
    static func addresses(in region: ServiceRegion) -> [IPAddress] {
        switch region {
        case .cn: [.v4(0x771d_1d62), .v4(0x771c_1c62)]
        case .intl: [.v4(0x2b84_3737)]
        case .hk, .sg, .de, .us: []
        }
    }

    /// For https. The vendor's SDKs check the certificate against the very address they connect to.
    static let secureAddresses: [IPAddress] = [.v4(0x771d_1d63), .v4(0x771c_1c63)]
}

/// Alibaba Cloud's public resolver, as www.alibabacloud.com/help/en/dns/httpdns-doh-json-api has it.
enum BuiltInAliDNS {
    static let addresses = ["223.5.5.5", "223.6.6.6", "2400:3200::1", "2400:3200:baba::1"].compactMap { IPAddress($0) }

    /// Whether `host` is this service: one of its addresses, or a name of the vendor's.
    static func isAt(_ host: ServiceHost) -> Bool {
        switch host {
        case .address(let address): addresses.contains(address)
        case .name(let name): (try? Name("alidns.com")).map { name.isWithin($0) } ?? false
        }
    }
}
