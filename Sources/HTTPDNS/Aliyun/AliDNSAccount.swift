import DNSWire

/// The account parameters of AliDNS's JSON interface of DoH.
///
/// Source: www.alibabacloud.com/help/en/dns/httpdns-doh-json-api. The page says only that `key` is a hash made with the
/// secret; the formula is that of public clients.
package struct AliDNSAccount: Sendable {
    private let id: String
    private let accessKeyID: String
    private let secret: Secret
    private let crypto: any Crypto

    /// - Parameters:
    ///   - id: the account ID of the DNS console, not that of the cloud account.
    ///   - accessKeyID: the AccessKey ID of the same console.
    ///   - secret: the AccessKey secret of that ID.
    package init(id: String, accessKeyID: String, secret: Secret, crypto: any Crypto) {
        self.id = id
        self.accessKeyID = accessKeyID
        self.secret = secret
        self.crypto = crypto
    }

    /// The parameters that sign a query for `host`, beginning with `&`.
    ///
    /// - Parameters:
    ///   - host: as it is sent, before percent-encoding.
    ///   - time: seconds since 1970.
    func parameters(for host: String, at time: Int64) throws(UpstreamFailure) -> String {
        let time = max(time, 0)
        guard let digest = crypto.sha256(Array("\(id)\(secret.value)\(time)\(host)\(accessKeyID)".utf8)) else {
            throw .unusable("no SHA-256 in this system's libcrypto, and requests are signed with it")
        }
        return "&uid=\(TextEncoding.percent(id))&ak=\(TextEncoding.percent(accessKeyID))&ts=\(time)"
            + "&key=\(TextEncoding.hexadecimal(digest))"
    }
}
