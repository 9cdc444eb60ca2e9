import TestSupport

/// A certificate authority of the tests, and certificates that it signed, made by the `openssl` command.
package final class TestCertificates: Sendable {
    /// A certificate and its key, whose files exist as long as it does.
    package struct Leaf: Sendable {
        fileprivate let directory: TemporaryDirectory
        /// The path of the certificate (PEM).
        package let certificate: String
        /// The path of its key (PEM).
        package let key: String

        /// The SHA-256 of its public key, in the form of `pin`.
        package var pin: String {
            get throws {
                let digest = try ChildProcess.succeed([
                    "sh", "-c",
                    "openssl pkey -in '\(key)' -pubout -outform DER | openssl dgst -sha256 -binary | openssl base64",
                ])
                return "sha256//" + digest.filter { !$0.isWhitespace }
            }
        }
    }

    private let directory: TemporaryDirectory

    /// The path of the authority's certificate (PEM), for `ca_file`.
    package var authority: String { directory.path + "/ca.pem" }

    package init() throws {
        directory = try TemporaryDirectory()
        try request("ca", subject: "httpdnsd tests", ["-addext", "basicConstraints=critical,CA:TRUE"])
    }

    /// A certificate for these DNS names and IP addresses; without any it has no alternative names at all.
    ///
    /// - Parameters:
    ///   - subject: its common name, which no client should use.
    ///   - isRSA: whether its key is of RSA, and not of an elliptic curve.
    package func leaf(
        names: [String] = [], addresses: [String] = [], subject: String = "leaf", isRSA: Bool = false
    ) throws -> Leaf {
        let alternatives = names.map { "DNS:" + $0 } + addresses.map { "IP:" + $0 }
        let names = alternatives.isEmpty ? [] : ["-addext", "subjectAltName=" + alternatives.joined(separator: ",")]
        let file = "leaf-\(UInt32.random(in: 0...(.max)))"
        try request(
            file, subject: subject, isRSA: isRSA,
            ["-CA", authority, "-CAkey", directory.path + "/ca.key", "-addext", "basicConstraints=CA:FALSE"] + names)
        return named(file)
    }

    /// A certificate for these DNS names that has expired.
    package func expiredLeaf(names: [String]) throws -> Leaf {
        try leaf(names: names, Self.expired)
    }

    /// A certificate for these DNS names that is not valid yet, as seen by a machine whose clock is far behind.
    package func earlyLeaf(names: [String]) throws -> Leaf {
        try leaf(names: names, Self.early)
    }

    /// A certificate for these DNS names that is valid for longer than that of its authority.
    package func longLeaf(names: [String]) throws -> Leaf {
        try leaf(names: names, Self.valid)
    }

    /// A certificate for these DNS names, signed by an impostor with the name of an expired intermediate authority,
    /// followed by the true intermediate's certificate, which this authority has signed.
    package func forgedLeaf(names: [String]) throws -> Leaf {
        let (expired, impostor) = ("expired", "impostor")
        try dated(expired, subject: "intermediate", "basicConstraints = critical,CA:TRUE", by: "ca", Self.expired)
        try request(impostor, subject: "intermediate", ["-addext", "basicConstraints=critical,CA:TRUE"])
        let file = "forged-\(UInt32.random(in: 0...(.max)))"
        try dated(file, subject: "leaf", Self.alternatives(names), by: impostor, Self.valid)
        try ChildProcess.succeed([
            "sh", "-c", "cat '\(directory.path)/\(expired).pem' >> '\(directory.path)/\(file).pem'",
        ])
        return named(file)
    }

    /// The start and end of validity, in the form of `openssl ca`.
    private typealias Time = (start: String, end: String)

    private static let expired: Time = ("20200101000000Z", "20210101000000Z")
    private static let early: Time = ("20990101000000Z", "21000101000000Z")
    private static let valid: Time = ("20200101000000Z", "20990101000000Z")

    private static func alternatives(_ names: [String]) -> String {
        "subjectAltName = " + names.map { "DNS:" + $0 }.joined(separator: ",")
    }

    private func leaf(names: [String], _ time: Time) throws -> Leaf {
        let file = "dated-\(UInt32.random(in: 0...(.max)))"
        try dated(file, subject: "leaf", Self.alternatives(names), by: "ca", time)
        return named(file)
    }

    /// - Parameters:
    ///   - extensions: lines of OpenSSL's configuration.
    ///   - authority: the file of the certificate that signs.
    private func dated(
        _ file: String, subject: String, _ extensions: String, by authority: String, _ time: Time
    ) throws {
        let path = directory.path + "/" + file
        try ChildProcess.succeed([
            "openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
            "/CN=" + subject, "-keyout", path + ".key", "-out", path + ".csr",
        ])
        try directory.write("", to: "\(file).index")
        let configuration = try directory.write(
            """
            [ca]
            default_ca = tests
            [tests]
            database = \(path).index
            new_certs_dir = \(directory.path)
            policy = policy
            x509_extensions = extensions
            default_md = sha256
            rand_serial = yes
            [policy]
            commonName = supplied
            [extensions]
            \(extensions)

            """, to: "\(file).conf")
        try ChildProcess.succeed([
            "openssl", "ca", "-batch", "-config", configuration, "-in", path + ".csr", "-out", path + ".pem", "-cert",
            "\(directory.path)/\(authority).pem", "-keyfile", "\(directory.path)/\(authority).key", "-startdate",
            time.start, "-enddate", time.end,
        ])
    }

    /// A certificate for these DNS names that no authority has signed.
    package func selfSignedLeaf(names: [String]) throws -> Leaf {
        let file = "self-signed-\(UInt32.random(in: 0...(.max)))"
        try request(
            file, subject: "leaf",
            ["-addext", "subjectAltName=" + names.map { "DNS:" + $0 }.joined(separator: ",")])
        return named(file)
    }

    private func named(_ file: String) -> Leaf {
        Leaf(directory: directory, certificate: "\(directory.path)/\(file).pem", key: "\(directory.path)/\(file).key")
    }

    private func request(_ file: String, subject: String, isRSA: Bool = false, _ extra: [String]) throws {
        let key = isRSA ? ["rsa:2048"] : ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        try ChildProcess.succeed(
            ["openssl", "req", "-x509", "-newkey"] + key + [
                "-nodes", "-days", "2", "-subj", "/CN=" + subject, "-keyout", "\(directory.path)/\(file).key", "-out",
                "\(directory.path)/\(file).pem",
            ] + extra)
    }
}
