/// A certificate authority of the tests' own, and certificates that it signed, made by the `openssl` command.
package final class TestCertificates: Sendable {
    /// A certificate and its key, whose files last as long as it.
    package struct Leaf: Sendable {
        fileprivate let directory: TemporaryDirectory
        /// Path of the certificate, PEM.
        package let certificate: String
        /// Path of its key, PEM.
        package let key: String

        /// The SHA-256 of its public key, as `pin` takes it.
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

    /// Path of the authority's certificate, PEM: what `ca_file` takes.
    package var authority: String { directory.path + "/ca.pem" }

    package init() throws {
        directory = try TemporaryDirectory()
        try request("ca", subject: "httpdnsd tests", ["-addext", "basicConstraints=critical,CA:TRUE"])
    }

    /// A certificate for these DNS names and IP addresses; without any it has no alternative names at all.
    ///
    /// - Parameter subject: its common name, which no client should look at.
    package func leaf(
        names: [String] = [], addresses: [String] = [], subject: String = "leaf"
    ) throws -> Leaf {
        let alternatives = names.map { "DNS:" + $0 } + addresses.map { "IP:" + $0 }
        let names = alternatives.isEmpty ? [] : ["-addext", "subjectAltName=" + alternatives.joined(separator: ",")]
        let file = "leaf-\(UInt32.random(in: 0...(.max)))"
        try request(
            file, subject: subject,
            ["-CA", authority, "-CAkey", directory.path + "/ca.key", "-addext", "basicConstraints=CA:FALSE"] + names)
        return named(file)
    }

    /// A certificate for these DNS names that has expired.
    package func expiredLeaf(names: [String]) throws -> Leaf {
        try leaf(names: names, from: "20200101000000Z", until: "20210101000000Z")
    }

    /// A certificate for these DNS names that is not valid yet: what a machine sees whose clock is far behind.
    package func earlyLeaf(names: [String]) throws -> Leaf {
        try leaf(names: names, from: "20990101000000Z", until: "21000101000000Z")
    }

    /// - Parameters:
    ///   - start: as `openssl ca` takes a time.
    ///   - end: likewise.
    private func leaf(names: [String], from start: String, until end: String) throws -> Leaf {
        let file = "dated-\(UInt32.random(in: 0...(.max)))"
        let path = directory.path + "/" + file
        try ChildProcess.succeed([
            "openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
            "/CN=leaf", "-keyout", path + ".key", "-out", path + ".csr",
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
            subjectAltName = \(names.map { "DNS:" + $0 }.joined(separator: ","))

            """, to: "\(file).conf")
        try ChildProcess.succeed([
            "openssl", "ca", "-batch", "-config", configuration, "-in", path + ".csr", "-out", path + ".pem", "-cert",
            authority, "-keyfile", directory.path + "/ca.key", "-startdate", start, "-enddate", end,
        ])
        return named(file)
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

    private func request(_ file: String, subject: String, _ extra: [String]) throws {
        try ChildProcess.succeed(
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-days", "2", "-subj", "/CN=" + subject, "-keyout", "\(directory.path)/\(file).key", "-out",
                "\(directory.path)/\(file).pem",
            ] + extra)
    }
}
