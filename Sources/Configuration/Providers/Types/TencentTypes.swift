import DNSWire

extension ProviderDescriptor {
    /// Tencent Cloud over plain http, encrypted with the account's key. Outside China it has no AES.
    static let tencent = ProviderDescriptor(
        accountExample: ("ID", "1001"), isMetered: true, builtInScheme: .http, regions: [.cn, .intl],
        addresses: BuiltInTencent.addresses, namesAddresses: true,
        encryptions: { $0 == .intl ? [.des] : [.des, .aes] },
        usualEncryption: { $0.region == .intl ? .des : .aes },
        checkAccount: { _, keys in
            for key in ["secret", "secret_file"] where keys.isWritten(key) {
                keys.warn(key, "has no effect: the key of type tencent is encryption_key")
            }
        })

    /// Tencent Cloud over https, with the account's token.
    static let tencentHTTPS = ProviderDescriptor(
        isMetered: true, regions: [.cn], addresses: { $0 == .cn ? BuiltInTencent.secureAddresses : [] },
        namesAddresses: true,
        certificateHosts: { host in
            let secure = BuiltInTencent.secureAddresses.map { ProviderHost.address($0) }
            return host == secure.first ? secure : [host]
        },
        checkAccount: { entry, keys in
            if entry.secret == nil, keys.isUsable("secret_file") { keys.require("secret", "the account's token") }
        },
        checkURL: { entry, keys in
            guard entry.url.scheme == .http else { return }
            keys.warn("url", "sends the account's token in clear, for anybody on the path to use: write https")
        })
}

/// Tencent Cloud's service, as cloud.tencent.com/document/product/379/54976 has it.
private enum BuiltInTencent {
    /// For encrypted questions over http; outside China with DES alone.
    static func addresses(in region: ProviderRegion) -> [IPAddress] {
        switch region {
        case .cn: [.v4(0x771d_1d62), .v4(0x771c_1c62)]
        case .intl: [.v4(0x2b84_3737)]
        case .hk, .sg, .de, .us: []
        }
    }

    /// For https. The vendor's SDKs check the certificate against the very address they connect to.
    static let secureAddresses: [IPAddress] = [.v4(0x771d_1d63), .v4(0x771c_1c63)]
}
