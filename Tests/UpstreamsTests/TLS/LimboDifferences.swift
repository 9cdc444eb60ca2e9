/// Where verdicts on the cases of x509-limbo differ, by the reason.
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

    /// What the channel refuses and x509-limbo accepts.
    static let stricterThanLimbo: [String: [String]] = [
        "OpenSSL counts an authority at the end of the path": ["pathlen::validation-ignores-pathlen-in-leaf"],
        "OpenSSL looks at the first path that it finds": [
            "rfc5280::nc::nc-forbids-alternate-chain-ica", "rfc5280::nc::nc-forbids-same-chain-ica",
        ],
        "for OpenSSL a certificate has expired at its last second": [
            "rfc5280::validity::notafter-exact", "rfc5280::validity::notafter-fractional",
        ],
        "an authority's key that is for certificates alone is no server's": ["rfc5280::ca-as-leaf"],
    ]

    /// What the channel accepts and x509-limbo refuses. It is about authorities that break a rule for authorities; none
    /// lets a server present a certificate that an authority has not signed, or for a name that is not in it.
    static let laxerThanLimbo: [String: [String]] = [
        "OpenSSL compares a wildcard with an excluded name as text": [
            "cve::cve-2025-61727", "rfc5280::nc::nc-forbids-dnsname-wildcard-san",
        ],
        "OpenSSL wants extensions of RFC 5280 only in its strict mode, which refuses authorities in use": [
            "rfc5280::aki::leaf-missing-aki", "rfc5280::aki::intermediate-missing-aki",
            "rfc5280::aki::cross-signed-root-missing-aki", "rfc5280::ski::root-missing-ski",
            "rfc5280::ski::intermediate-missing-ski", "rfc5280::root-missing-basic-constraints",
        ],
        "OpenSSL looks at what an extension says, not at whether it is critical": [
            "rfc5280::nc::permitted-dns-match-noncritical", "rfc5280::pc::ica-noncritical-pc",
            "rfc5280::san::noncritical-with-empty-subject", "rfc5280::root-non-critical-basic-constraints",
            "webpki::eku::ee-critical-eku", "webpki::san::san-critical-with-nonempty-subject",
        ],
        "OpenSSL does not look at extensions that a server's certificate must not have": [
            "rfc5280::nc::not-allowed-in-ee-noncritical", "rfc5280::nc::not-allowed-in-ee-critical",
            "rfc5280::leaf-ku-keycertsign", "webpki::malformed-aia", "webpki::ee-basicconstraints-ca",
        ],
        "OpenSSL takes names as they are": [
            "rfc5280::nc::invalid-dnsname-leading-period", "rfc5280::nc::nc-permits-invalid-dns-san",
            "rfc5280::san::underscore-dns", "rfc5280::ca-empty-subject",
        ],
        "OpenSSL takes any serial number": ["rfc5280::serial::too-long", "rfc5280::serial::zero"],
        "OpenSSL takes empty constraints as none": [
            "webpki::nc::intermediate-permitted-excluded-subtrees-both-null",
            "webpki::nc::intermediate-permitted-excluded-subtrees-both-empty-sequences",
        ],
        "a rule of the CA/Browser Forum for what authorities issue": [
            "webpki::aki::root-with-aki-missing-keyidentifier", "webpki::aki::root-with-aki-authoritycertissuer",
            "webpki::aki::root-with-aki-authoritycertserialnumber", "webpki::aki::root-with-aki-all-fields",
            "webpki::aki::root-with-aki-ski-mismatch", "webpki::eku::ee-anyeku", "webpki::eku::ee-without-eku",
            "webpki::eku::root-has-eku", "webpki::forbidden-dsa-root",
            "webpki::forbidden-rsa-not-divisible-by-8-in-root",
            "webpki::forbidden-rsa-key-not-divisible-by-8-in-leaf",
        ],
        "the subject's common name is ignored": [
            "webpki::cn::ipv4-hex-mismatch", "webpki::cn::ipv4-leading-zeros-mismatch",
            "webpki::cn::ipv6-uppercase-mismatch", "webpki::cn::ipv6-uncompressed-mismatch",
            "webpki::cn::ipv6-non-rfc5952-mismatch", "webpki::cn::punycode-not-in-san",
            "webpki::cn::utf8-vs-punycode-mismatch", "webpki::cn::not-in-san", "webpki::cn::case-mismatch",
        ],
        "there is no list of public suffixes": [
            "webpki::san::public-suffix-multi-label-wildcard-san",
            "webpki::san::public-suffix-private-namespace-wildcard-san",
        ],
    ]
}
