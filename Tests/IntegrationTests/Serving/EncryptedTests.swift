import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// DNS over TLS with real clients.
    struct EncryptedTests {
        private let listeners: EncryptedListeners

        init() throws { listeners = try EncryptedListeners() }

        /// What `kdig` says about a name.
        private func kdig(_ options: String...) throws -> String { try ChildProcess.succeed(listeners.kdig(options)) }

        @Test func `kdig gets its answer over TLS, padded, and TLS 1_1 is not served`() throws {
            let stage = try Stage(listen: listeners.lines("tls"))
            let answer = try kdig("+padding=128")
            for part in ["192.0.2.1", "192.0.2.2", "Received 468 B", "TLS1.3"] { #expect(answer.contains(part)) }
            for (version, isServed) in [("-tls1_2", true), ("-tls1_3", true), ("-tls1_1", false)] {
                let outcome = try ChildProcess.run(
                    [
                        "sh", "-c",
                        "openssl s_client -connect 127.0.0.1:\(listeners.tls) \(version) -cipher ALL:@SECLEVEL=0 </dev/null",
                    ], within: .patience)
                #expect(outcome.output.contains("Cipher is (NONE)") == !isServed, "\(version)")
            }
            withExtendedLifetime(stage) {}
        }

        @Test func `Unbound forwards over TLS`() throws {
            let stage = try Stage(listen: listeners.lines("tls"))
            let own = try FreePort.next()
            let directory = try TemporaryDirectory()
            let file = try directory.write(
                """
                server:
                    interface: 127.0.0.1@\(own)
                    do-not-query-localhost: no
                    module-config: "iterator"
                    tls-cert-bundle: "\(listeners.certificates.authority)"
                \(Unbound.common)
                forward-zone:
                    name: "."
                    forward-tls-upstream: yes
                    forward-addr: 127.0.0.1@\(listeners.tls)#dns.example

                """, to: "unbound.conf")
            let unbound = try ChildProcess(server: Unbound.command(file), until: Unbound.ready)
            let dig = try Dig(TestAddress("127.0.0.1", port: own), "www.example.com", "A", [])
            #expect(Set(dig.addresses) == ["192.0.2.1", "192.0.2.2"])
            withExtendedLifetime((stage, unbound)) {}
        }

        @Test func `stubby asks over TLS`() throws {
            let stage = try Stage(listen: listeners.lines("tls"))
            let own = try FreePort.next()
            let directory = try TemporaryDirectory()
            let file = try directory.write(
                """
                resolution_type: GETDNS_RESOLUTION_STUB
                dns_transport_list: [GETDNS_TRANSPORT_TLS]
                tls_authentication: GETDNS_AUTHENTICATION_REQUIRED
                tls_ca_file: "\(listeners.certificates.authority)"
                tls_query_padding_blocksize: 128
                listen_addresses: [127.0.0.1@\(own)]
                upstream_recursive_servers:
                  - address_data: 127.0.0.1
                    tls_port: \(listeners.tls)
                    tls_auth_name: "dns.example"

                """, to: "stubby.yml")
            let stubby = try ChildProcess(server: ["stubby", "-C", file, "-l"], until: "Starting DAEMON")
            let dig = try Dig(TestAddress("127.0.0.1", port: own), "www.example.com", "A", ["+retry=5"])
            #expect(Set(dig.addresses) == ["192.0.2.1", "192.0.2.2"])
            withExtendedLifetime((stage, stubby)) {}
        }

        /// With `half` of a ClientHello nothing but that is held. A key on P-521 takes the most.
        @Test(arguments: [(["hello", "secp521r1"], 40), (["half"], 4)])
        func `1,000 handshakes that stay half done take bounded memory, and honest clients are served`(
            kind: [String], most: Int
        ) throws {
            let stage = try Stage(listen: listeners.lines("tls"))
            for _ in 0..<5 { #expect(try kdig().contains("192.0.2.1")) }
            let before = try stage.daemon.kernelNumber("RssAnon")
            let attacker = try ChildProcess(
                server: ["python3", ClientProgram.source("half.py"), "\(listeners.tls)", "1000"] + kind, until: "held")
            for _ in 0..<10 {
                #expect(try kdig("+noretry").contains("192.0.2.1"))
                #expect(try stage.ask("www.example.com").addresses.count == 2)
            }
            // The pages of its files go and come at any time.
            let taken = try stage.daemon.kernelNumber("RssAnon") - before
            #expect(taken < most * 1_000, "\(taken) KiB")
            #expect(attacker.isRunning, "\(attacker.errors)")
        }

        @Test func `check names the file that cannot be used`() throws {
            let other = try listeners.certificates.leaf(names: ["other.example"])
            let text = """
                [listen]
                tls = ["127.0.0.1:853"]
                certificate = "\(listeners.leaf.certificate)"
                key = "\(other.key)"
                [route]
                mode = "localdns-only"
                """
            let outcome = try Daemon.check(text)
            #expect(outcome.status == 78)
            #expect(
                outcome.errors.contains(
                    "\(other.key): is not the key of the certificate in \(listeners.leaf.certificate)"))
            let expired = try listeners.certificates.expiredLeaf(names: ["dns.example"])
            let warned = try Daemon.check(
                text.replacing(listeners.leaf.certificate, with: expired.certificate).replacing(
                    other.key, with: expired.key))
            #expect(warned.status == 0)
            #expect(warned.errors.contains("\(expired.certificate): has expired"))
        }
    }
}
