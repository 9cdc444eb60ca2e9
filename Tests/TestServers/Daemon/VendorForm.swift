package import HTTPDNS
import Upstreams

/// The forms in which providers are asked, each with an account at a service.
package enum VendorForm: String, CaseIterable, Sendable {
    /// Aliyun's.
    case signed
    /// Aliyun's v2.
    case plain, cbc, gcm
    /// Tencent's.
    case des, aes, token
    case doh
    /// DoH in JSON, without an account and with one of AliDNS.
    case json, alidns

    private static let secret = Secret("0123456789abcdef0123456789abcdef")

    private var key: (PayloadEncryption, Secret)? {
        switch self {
        case .cbc: (.cbc, Secret("00112233445566778899aabbccddeeff"))
        case .gcm: (.gcm, Secret("00112233445566778899aabbccddeeff"))
        case .des: (.des, Secret("k3yD3s8x"))
        case .aes: (.aes, Secret("0123456789abcdef"))
        case .signed, .plain, .token, .doh, .json, .alidns: nil
        }
    }

    package var account: ServiceAccount {
        let box = key.flatMap { PayloadBox($0.0, key: $0.1, crypto: OpenSSLCrypto()) }
        return switch self {
        case .signed, .plain, .cbc, .gcm:
            ServiceAccount(id: DaemonConfiguration.account, secret: Self.secret, box: box)
        case .des, .aes: ServiceAccount(id: "1001", box: box)
        case .token: ServiceAccount(id: "1", secret: Secret("123456789"))
        case .doh, .json: ServiceAccount(id: "1")
        case .alidns: ServiceAccount(id: "123456", secret: Secret("s3cr3ts3cr3t"), accessKeyID: "ak0001")
        }
    }

    /// The `type` of the provider, and the path of its `url`.
    private var type: (name: String, path: String) {
        switch self {
        case .signed: ("aliyun", "")
        case .plain, .cbc, .gcm: ("aliyun-v2", "")
        case .des, .aes: ("tencent", "")
        case .token: ("tencent-https", "")
        case .doh: ("doh", "/dns-query")
        case .json, .alidns: ("doh-json", "/resolve")
        }
    }

    /// What stands in both tables.
    private func credentials(_ secret: String?) -> String {
        let encryption =
            key.map { ["encryption = \"\($0.0.rawValue)\"", "encryption_key = \"\($0.1.value)\""] }
            ?? (self == .plain ? ["encryption = \"none\""] : [])
        let secrets = (secret ?? account.secret?.value).map { ["secret = \"\($0)\""] } ?? []
        let keys = account.accessKeyID.isEmpty ? [] : ["access_key_id = \"\(account.accessKeyID)\""]
        return (secrets + keys + encryption).map { $0 + "\n" }.joined()
    }

    /// A `[[provider]]` named `vendor`.
    ///
    /// - Parameters:
    ///   - url: of the service, without a path.
    ///   - secret: instead of the one that the account has.
    ///   - extra: more lines of the table.
    package func provider(_ url: String, secret: String? = nil, _ extra: String = "") -> String {
        let hasAccount = self != .token && self != .doh && self != .json
        return """
            [[provider]]
            type = "\(type.name)"
            name = "vendor"
            url = "\(url)\(type.path)"
            \(hasAccount ? "account = \"\(account.id)\"" : "")
            \(credentials(secret))\(extra)

            """
    }

    /// The `[[account]]` of a daemon that serves this form.
    package var accountTable: String { "[[account]]\nid = \"\(account.id)\"\n" + credentials(nil) }
}
