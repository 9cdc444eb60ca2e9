import TestServers
import TestSupport
import Testing

@testable import DNSServer

/// What is said of files that cannot be used.
struct TLSContextTests {
    private func problem(_ files: TLSFiles) -> TLSFiles.Problem? {
        do throws(TLSFiles.Problem) {
            _ = try TLSContext(try files.read())
            return nil
        } catch {
            return error
        }
    }

    @Test func `each file that cannot be used is named, with the reason`() throws {
        let certificates = try TestCertificates()
        let (leaf, other) = (try certificates.leaf(names: ["one"]), try certificates.leaf(names: ["two"]))
        let directory = try TemporaryDirectory()
        let text = try directory.write("no certificate", to: "text.pem")
        let empty = try directory.write("", to: "empty.pem")
        let longest = try directory.write(String(repeating: "a", count: 1 << 20), to: "longest.pem")
        let longer = try directory.write(String(repeating: "a", count: 1 << 20 + 1), to: "longer.pem")
        let good = TLSFiles(certificate: leaf.certificate, key: leaf.key)
        #expect(problem(good) == nil)
        func reason(_ change: (inout TLSFiles) -> Void) -> String {
            var files = good
            change(&files)
            return problem(files)?.description ?? ""
        }
        #expect(
            reason { $0.certificate = "/nowhere/c.pem" } == "/nowhere/c.pem: cannot be read: No such file or directory")
        #expect(reason { $0.certificate = text } == "\(text): holds no certificate in PEM")
        #expect(reason { $0.key = text } == "\(text): holds no private key in PEM")
        #expect(reason { $0.key = empty } == "\(empty): is empty")
        #expect(reason { $0.certificate = longest } == "\(longest): holds no certificate in PEM")
        #expect(reason { $0.certificate = longer } == "\(longer): is larger than 1 MiB")
        #expect(
            reason { $0.key = other.key } == "\(other.key): is not the key of the certificate in \(leaf.certificate)")
        #expect(reason { $0.clientAuthorities = text } == "\(text): holds no certificate in PEM")
    }

    @Test func `a key with a password is named as such`() throws {
        let leaf = try TestCertificates().leaf(names: ["one"])
        let directory = try TemporaryDirectory()
        let locked = directory.path + "/locked.pem"
        try ChildProcess.succeed(["openssl", "pkey", "-in", leaf.key, "-aes256", "-passout", "pass:x", "-out", locked])
        #expect(
            problem(TLSFiles(certificate: leaf.certificate, key: locked))
                == .init(file: locked, reason: "has a password: store it without"))
    }

    @Test func `keys of RSA are fine, too`() throws {
        let directory = try TemporaryDirectory()
        let (key, certificate) = (directory.path + "/k.pem", directory.path + "/c.pem")
        try ChildProcess.succeed([
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=x", "-keyout", key,
            "-out", certificate,
        ])
        #expect(problem(TLSFiles(certificate: certificate, key: key)) == nil)
    }
}
