import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// `httpdnsd policy`: what an operator does with policies, without a server.
    @Suite(.serialized)
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

        @Test func `the keys that verify a policy are those of the configuration`() throws {
            let file = try signer.sign(PolicySigner.text(serial: 1))
            let configuration = try signer.directory.write(
                "[policy]\npublic_key = [\"\(signer.publicKey)\"]\n", to: "a.toml")
            #expect(try Daemon.run(["policy", "verify", file, "--config", configuration]).status == 0)
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

        /// What `check` says of a configuration with the policy of a file or URL.
        private func check(_ url: String, cache: String = "") throws -> ChildProcess.Outcome {
            let file = try signer.directory.write(
                Daemon.listenTable([TestAddress("127.0.0.1", port: 5_399)])
                    + DaemonConfiguration.aliyun("http://127.0.0.1:9")
                    + DaemonConfiguration.rest().replacing("path = \"\"", with: "path = \"\(cache)\"")
                    + "[policy]\nurl = \"\(url)\"\npublic_key = [\"\(signer.publicKey)\"]\n",
                to: "checked.toml")
            return try Daemon.run(["check", "--config", file])
        }

        @Test func `check shows the configuration with the policy of a file in force`() throws {
            let file = try signer.sign(PolicySigner.text(serial: 3, "[route]\nbypass = [\"policy.example\"]\n"))
            let outcome = try check("file://\(file)")
            #expect(outcome.status == 0)
            #expect(
                outcome.output.contains("policy    serial 3, expires 2099-01-31T00:00:00Z, from file://\(file): adds"))
            #expect(outcome.output.contains("policy.example: localdns"))
        }

        @Test func `check names the document and the line of what is wrong with it, and why it is not taken`() throws {
            let cache = signer.directory.path + "/cache.sqlite"
            try signer.sign(PolicySigner.text(serial: 9), to: cache + ".policy")
            let replayed = try signer.sign(PolicySigner.text(serial: 3))
            let outcome = try check("file://\(replayed)", cache: cache)
            #expect(outcome.status == 0)
            #expect(outcome.errors.contains("warning: \(replayed) has the serial 3, and this machine has had 9"))
            #expect(outcome.output.contains("policy    serial 9"))
            let text = try String(contentsOfFile: replayed, encoding: .utf8)
            try text.replacing("serial = 3", with: "serial = 4").write(
                toFile: replayed, atomically: true, encoding: .utf8)
            #expect(try check("file://\(replayed)").errors.contains("warning: \(replayed):1: was changed after"))
            #expect(try check("file:///nowhere/a.policy").errors.contains("/nowhere/a.policy: cannot be read"))
        }

        @Test func `check reads the stored policy of a URL, and fetches nothing`() throws {
            let cache = signer.directory.path + "/cache.sqlite"
            try signer.sign(PolicySigner.text(serial: 9), to: cache + ".policy")
            let stored = try check("https://policy.example.com/a", cache: cache)
            #expect(stored.output.contains("policy    serial 9"))
            #expect(stored.output.contains("https://policy.example.com/a, which is not fetched for this check"))
            #expect(try check("https://policy.example.com/a").output.contains("policy    none in force"))
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

        @Test func `a policy with a mistake is not signed, and file, line and key are named`() throws {
            let file = try signer.directory.write(
                PolicySigner.text(serial: 1) + "[[provider]]\ntype = \"doh\"\n", to: "bad.toml")
            let outcome = try Daemon.run(["policy", "sign", file, "--key", signer.keyFile])
            #expect(outcome.status == 1)
            #expect(outcome.output.isEmpty)
            #expect(outcome.errors.hasPrefix("\(file):4: provider: cannot be in a signed policy"), "\(outcome.errors)")
        }

        @Test func `a policy that has expired is not signed`() throws {
            let file = try signer.directory.write(
                "[document]\nserial = 1\nexpires = 2001-01-31T00:00:00Z\n", to: "old.toml")
            let outcome = try Daemon.run(["policy", "sign", file, "--key", signer.keyFile])
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("document.expires is over"))
        }

        @Test func `what is no private key signs nothing`() throws {
            let file = try signer.directory.write(PolicySigner.text(serial: 1), to: "a.toml")
            let outcome = try Daemon.run(["policy", "sign", file, "--key", file])
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("holds no key"))
        }

        private func sign(_ options: String...) throws -> ChildProcess.Outcome {
            let text = try signer.directory.write(PolicySigner.text(serial: 1), to: "unsigned.toml")
            return try Daemon.run(["policy", "sign", text, "--key", signer.keyFile] + options)
        }

        @Test func `a place where a signed policy cannot be written is named`() throws {
            let place = signer.directory.path + "/missing/signed"
            let outcome = try sign("--output", place)
            #expect(outcome.status == 1 && outcome.errors.contains(place), "\(outcome.errors)")
        }

        @Test func `a link to which a policy is signed stays, and the file behind it is replaced`() throws {
            let (file, link) = (signer.directory.path + "/behind", signer.directory.path + "/link")
            _ = try signer.directory.write("old", to: "behind")
            #expect(symlink("behind", link) == 0)
            #expect(try sign("--output", link).status == 0)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "behind")
            #expect(try Daemon.run(["policy", "verify", file, "--public-key", signer.publicKey]).status == 0)
        }

        @Test func `a file beside the one to which a policy is signed stays as it was`() throws {
            let neighbour = try signer.directory.write("of someone else", to: "signed.new")
            #expect(try sign("--output", signer.directory.path + "/signed").status == 0)
            #expect(try String(contentsOfFile: neighbour, encoding: .utf8) == "of someone else")
        }

        @Test func `a pipe to which a policy is signed receives it, and stays a pipe`() throws {
            let pipe = signer.directory.path + "/pipe"
            #expect(mkfifo(pipe, 0o600) == 0)
            let reader = try ChildProcess(["timeout", "20", "cat", pipe])
            #expect(try sign("--output", pipe).status == 0)
            var status = stat()
            #expect(lstat(pipe, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
            #expect(try reader.finish(within: .patience).output.hasPrefix("#httpdnsd-policy"))
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
