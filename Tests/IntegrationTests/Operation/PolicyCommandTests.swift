import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// `httpdnsd policy`: what an operator does with policies, without a server.
    struct PolicyCommandTests {
        private let signer: PolicySigner

        init() throws { signer = try PolicySigner() }

        @Test func `a policy that was signed is verified, and what it changes is said`() throws {
            let file = try signer.sign(
                """
                [document]
                serial = 3
                expires = 2099-01-31T00:00:00Z
                switch = "off"
                [route]
                protect = ["example.com", "example.org"]
                """)
            let outcome = try Daemon.run(["policy", "verify", file, "--public-key", signer.publicKey])
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(
                outcome.output == """
                    \(file) is good: serial 3, expires 2099-01-31T00:00:00Z
                      switches HTTPDNS off
                      adds 2 names to route.protect

                    """)
        }

        @Test func `a policy of another key, or changed after it was signed, is refused with the reason`() throws {
            let file = try signer.sign(PolicySigner.text(serial: 1))
            let other = try PolicySigner()
            let foreign = try Daemon.run(["policy", "verify", file, "--public-key", other.publicKey])
            #expect(foreign.status == 1)
            #expect(
                foreign.errors
                    == "\(file):1: is signed with the key \"\(signer.publicKey.prefix(8))\", and policy.public_key trusts \"\(other.publicKey.prefix(8))\"\n"
            )
            let changed = try String(contentsOfFile: file, encoding: .utf8).replacing("serial = 1", with: "serial = 2")
            try changed.write(toFile: file, atomically: true, encoding: .utf8)
            let outcome = try Daemon.run(["policy", "verify", file, "--public-key", signer.publicKey])
            #expect(outcome.status == 1)
            #expect(
                outcome.errors
                    == "\(file):1: was changed after it was signed with the key \"\(signer.publicKey.prefix(8))\"\n")
        }

        @Test func `the keys that verify a policy are those of the configuration`() throws {
            let file = try signer.sign(PolicySigner.text(serial: 1))
            let configuration = try signer.directory.write(
                "[policy]\npublic_key = [\"\(signer.publicKey)\"]\n", to: "a.toml")
            #expect(try Daemon.run(["policy", "verify", file, "--config", configuration]).status == 0)
        }

        @Test func `openssl verifies what was signed`() throws {
            let file = try signer.sign(PolicySigner.text(serial: 1))
            let outcome = try ChildProcess.run([
                "bash", "-c",
                """
                cd \(signer.directory.path)
                (printf '\\x30\\x2a\\x30\\x05\\x06\\x03\\x2b\\x65\\x70\\x03\\x21\\x00'; base64 -d <<< "\(signer.publicKey)") > key.der
                head -n 1 \(file) | cut -d ' ' -f 4 | base64 -d > signature
                tail -n +2 \(file) > text
                openssl pkeyutl -verify -rawin -pubin -keyform DER -inkey key.der -sigfile signature -in text
                """,
            ])
            #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
        }

        @Test func `a private key is for its owner alone, and is never overwritten`() throws {
            var status = stat()
            #expect(stat(signer.keyFile, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
            let again = try Daemon.run(["policy", "keygen", signer.keyFile])
            #expect(again.status == 1)
            #expect(again.errors.contains("a key is never overwritten"))
            // It still signs for the same public key.
            let file = try signer.sign(PolicySigner.text(serial: 1))
            #expect(try Daemon.run(["policy", "verify", file, "--public-key", signer.publicKey]).status == 0)
        }

        @Test func `a policy with a mistake, or that has expired, is not signed, nor one with what is no key`() throws {
            let file = try signer.directory.write(
                PolicySigner.text(serial: 1) + "[[provider]]\ntype = \"doh\"\n", to: "bad.toml")
            let outcome = try Daemon.run(["policy", "sign", file, "--key", signer.keyFile])
            #expect(outcome.status == 1)
            #expect(outcome.output.isEmpty)
            #expect(outcome.errors.hasPrefix("\(file):4: provider: cannot be in a signed policy"), "\(outcome.errors)")
            let old = try signer.directory.write(
                "[document]\nserial = 1\nexpires = 2001-01-31T00:00:00Z\n", to: "old.toml")
            #expect(
                try Daemon.run(["policy", "sign", old, "--key", signer.keyFile]).errors.contains(
                    "document.expires is over"))
            let good = try signer.directory.write(PolicySigner.text(serial: 1), to: "good.toml")
            let openKey = try signer.directory.write(signer.publicKey + "\n", to: "public.key")
            for file in [old, openKey] {
                let outcome = try Daemon.run(["policy", "sign", good, "--key", file])
                #expect(outcome.status == 1 && outcome.output.isEmpty)
                #expect(outcome.errors.hasPrefix("\(file): holds no private key"), "\(outcome.errors)")
            }
        }

        @Test func `output that cannot be written is an error`() throws {
            let text = try signer.directory.write(PolicySigner.text(serial: 1), to: "unsigned.toml")
            // A file may have no byte, as on a full disk.
            let script = "trap '' XFSZ; ulimit -f 0; exec \"$@\" >\"$0\""
            let outcome = try ChildProcess.run(
                ["sh", "-c", script, signer.directory.path + "/full", Daemon.executable]
                    + ["policy", "sign", text, "--key", signer.keyFile])
            #expect(outcome.status == 1)
            #expect(outcome.errors.hasSuffix("standard output: File too large\n"), "\(outcome.errors)")
        }
    }
}
