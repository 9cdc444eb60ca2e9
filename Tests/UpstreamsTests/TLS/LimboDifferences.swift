/// Where this program's verdicts on the cases of x509-limbo differ from the `openssl` command's, by the reason.
enum LimboDifferences {
    /// A server cannot present it in a handshake.
    static let notPresentable: [String: [String]] = [
        "OpenSSL does not load it": ["rfc5280::san::malformed", "rfc5280::duplicate-extensions"],
        "TLS has no signature by such a key": ["webpki::forbidden-p192-leaf", "webpki::forbidden-dsa-leaf"],
    ]

    /// What one of this program's ways refuses and the `openssl` command accepts. There is nothing that only this
    /// program accepts.
    static let stricterThanOpenSSL: [String: [String]] = [
        "RFC 9525 section 2: the subject's common name is ignored": ["webpki::san::no-san", "webpki::v1-cert"],
        "RFC 9525 section 6.3: a wildcard stands for a whole label": ["webpki::san::wildcard-embedded-leftmost-san"],
        "the security level of TLS in Debian": [
            "webpki::forbidden-p192-root", "webpki::forbidden-weak-rsa-key-in-root",
            "webpki::forbidden-weak-rsa-in-leaf",
        ],
    ]
}
