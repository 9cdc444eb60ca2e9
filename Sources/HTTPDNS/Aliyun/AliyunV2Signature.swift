package import DNSWire

/// The signature of Aliyun's v2 interface: HMAC-SHA256 over the parameters in the order of their names.
///
/// Source: help.aliyun.com/document_detail/2978980.html.
package enum AliyunV2Signature {
    /// A parameter before percent-encoding.
    package typealias Parameter = (name: String, value: String)

    /// The text that is signed. Parameters without a value are left out; names are sorted by their bytes, upper case
    /// before lower.
    package static func text(of parameters: [Parameter]) -> String {
        parameters.filter { !$0.value.isEmpty }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            .map { "\($0.name)=\($0.value)" }
            .joined(separator: "&")
    }

    /// - Parameter secret: hexadecimal digits.
    /// - Returns: 64 hexadecimal digits in lower case.
    package static func hexadecimal(
        of parameters: [Parameter], secret: Secret, crypto: any Crypto
    ) throws(UpstreamFailure) -> String {
        guard let key = TextDecoding.hexadecimal(secret.value),
            let code = crypto.hmacSHA256(Array(text(of: parameters).utf8), key: key)
        else { throw .unusable("no HMAC-SHA256 in this system's libcrypto, and requests are signed with it") }
        return TextEncoding.hexadecimal(code)
    }
}
