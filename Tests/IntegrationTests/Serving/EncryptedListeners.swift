import TestServers

/// Ports of the encrypted listeners of a daemon, and its certificate for `dns.example` and 127.0.0.1.
struct EncryptedListeners {
    let certificates: TestCertificates
    var leaf: TestCertificates.Leaf
    var tls: UInt16
    var https: UInt16

    init() throws {
        certificates = try TestCertificates()
        leaf = try certificates.leaf(names: ["dns.example"], addresses: ["127.0.0.1"])
        (tls, https) = (try FreePort.next(), try FreePort.next())
    }

    /// Lines of the `[listen]` table.
    ///
    /// - Parameter kinds: `tls`, `https` or both.
    func lines(_ kinds: String...) -> String {
        kinds.map { "\($0) = [\"127.0.0.1:\($0 == "tls" ? tls : https)\"]\n" }.joined()
            + "certificate = \"\(leaf.certificate)\"\nkey = \"\(leaf.key)\"\n"
    }

    /// The command with which `kdig` asks for a name, and checks the certificate.
    ///
    /// - Parameter https: the option for asking over HTTPS; nil: over TLS.
    func kdig(_ options: [String] = [], https option: String? = nil, name: String = "www.example.com") -> [String] {
        [
            "kdig", "@127.0.0.1", "-p", "\(option == nil ? tls : https)", "+tls-ca=\(certificates.authority)",
            "+tls-hostname=dns.example", "+timeout=60",
        ] + (option.map { [$0] } ?? []) + options + [name]
    }
}
