import DNSWire

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
            guard entry.account.isEmpty, BuiltInAliDNS.isAt(entry.url.host), keys.isSound("account") else { return }
            keys.warn(
                "url",
                "AliDNS may refuse requests without an account: write account, access_key_id and secret, or use type doh"
            )
        })
}

/// Alibaba Cloud's public resolver, as www.alibabacloud.com/help/en/dns/httpdns-doh-json-api has it.
private enum BuiltInAliDNS {
    static let addresses = ["223.5.5.5", "223.6.6.6", "2400:3200::1", "2400:3200:baba::1"].compactMap { IPAddress($0) }

    /// Whether `host` is this service: one of its addresses, or a name of the vendor's.
    static func isAt(_ host: ProviderHost) -> Bool {
        switch host {
        case .address(let address): addresses.contains(address)
        case .name(let name): (try? Name("alidns.com")).map { name.isWithin($0) } ?? false
        }
    }
}
