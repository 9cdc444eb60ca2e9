import DNSWire
import HTTPDNS

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
            regions: [.cn, .hk, .sg, .de, .us],
            addresses: BuiltInAliyun.addresses, namesAddresses: true, startupAddresses: BuiltInAliyun.addresses,
            certificateHosts: { BuiltInAliyun.isAt($0) ? BuiltInAliyun.certificateHosts : [$0] },
            checkAccount: checkAccount)
    }

    /// One of plain http counts 1, of https 5; encryption adds 2 over http and 3 over https
    /// (www.alibabacloud.com/help/en/httpdns/latest/billing).
    @Sendable private static func unitsOfAnswer(isHTTPS: Bool, isEncrypted: Bool) -> Int {
        isHTTPS ? (isEncrypted ? 8 : 5) : (isEncrypted ? 3 : 1)
    }
}

/// Alibaba Cloud's service, as help.aliyun.com/document_detail/111585.html and the vendor's SDKs have it.
private enum BuiltInAliyun {
    /// Startup addresses: they answer questions too, and name those that are nearer.
    static func addresses(in region: ProviderRegion) -> [IPAddress] {
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
    static let certificateHosts = ["resolvers.httpdns.aliyuncs.com", "203.107.1.1"].compactMap { ProviderHost($0) }

    /// Whether `host` is this service: one of its addresses, or a name of the vendor's.
    static func isAt(_ host: ProviderHost) -> Bool {
        switch host {
        case .address(let address): ProviderRegion.allCases.contains { addresses(in: $0).contains(address) }
        case .name(let name): (try? Name("httpdns.aliyuncs.com")).map { name.isWithin($0) } ?? false
        }
    }
}
