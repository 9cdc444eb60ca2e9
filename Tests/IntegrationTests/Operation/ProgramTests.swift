import TestServers
import Testing

extension Integration {
    /// Programs that open a connection to a name: names, certificates (SNI) and `Host` are right without any support by
    /// them.
    @Suite(.serialized, .requires(.networkNamespaces))
    struct ProgramTests {
        private static let hosts = ["shop.example.com", "blog.example.com"]
        private static let honest = ["192.0.2.1", "2001:db8::1"]
        private static let forged = "203.0.113.66"
        private static let zone = FakeZone([
            "shop.example.com": .init(a: ["192.0.2.1"], aaaa: ["2001:db8::1"]),
            "blog.example.com": .init(a: ["192.0.2.1"], aaaa: ["2001:db8::1"]),
            "www.example.com": .init(a: ["192.0.2.1", "192.0.2.2"], aaaa: ["2001:db8::1"]),
            "four.example.com": .init(a: ["192.0.2.4"]),
        ])

        /// A host with the two-certificate site, the hijacker's site, and the daemon between a vendor and a hijacked
        /// LocalDNS.
        private struct Scene {
            let host: ClientHost
            let certificates: TestCertificates
            let site: TLSSite
            let hijackersSite: TLSSite
            let stage: Stage

            init(_ form: Stage.Form = .aliyun) throws {
                host = try ClientHost(addresses: ProgramTests.honest + [ProgramTests.forged])
                certificates = try TestCertificates()
                site = try TLSSite(
                    certificates, hosts: ProgramTests.hosts, on: ProgramTests.honest, namespace: host.namespace)
                hijackersSite = try TLSSite(
                    certificates, hosts: ["hijacker.example.net"], on: [ProgramTests.forged], namespace: host.namespace)
                stage = try Stage(form, ProgramTests.zone, inside: host)
                stage.localDNS.behave(.lie([ProgramTests.forged]))
            }

            func run(_ command: String..., resolvConf: String = ClientHost.resolvConf) throws -> ChildProcess.Outcome {
                try host.run(
                    command, resolvConf: resolvConf,
                    environment: [
                        "SSL_CERT_FILE": certificates.authority, "NODE_EXTRA_CA_CERTS": certificates.authority,
                    ]
                )
            }

            func curl(_ arguments: String...) throws -> ChildProcess.Outcome {
                try host.run(
                    ["curl", "--silent", "--show-error", "--noproxy", "*", "--cacert", certificates.authority]
                        + arguments)
            }
        }

        @Test(arguments: ["-4", "-6"])
        func `curl reaches each host of a site by its name, and its certificate is right`(family: String) throws {
            let scene = try Scene()
            for host in Self.hosts {
                let outcome = try scene.curl(family, "https://\(host)/")
                #expect(outcome.lines == ["\(host) \(host)"], "\(outcome.errors)")
            }
        }

        @Test func `a redirect to the other host of the site is followed with the other certificate`() throws {
            let scene = try Scene()
            let outcome = try scene.curl("--location", "https://shop.example.com/moved")
            #expect(outcome.lines == ["blog.example.com blog.example.com"], "\(outcome.errors)")
        }

        @Test func `the same look-up at a hijacked resolver ends at a wrong certificate`() throws {
            let scene = try Scene()
            // The hijacked resolver itself on port 53, where programs ask.
            let hijacked = try scene.host.namespace.inside { try FakeLocalDNS(host: "127.0.0.53", port: 53) }
            hijacked.behave(.lie([Self.forged]))
            let outcome = try scene.run(
                "curl", "--silent", "--show-error", "--noproxy", "*", "--cacert", scene.certificates.authority,
                "https://shop.example.com/", resolvConf: "nameserver 127.0.0.53\n")
            #expect(outcome.status == 60)
            #expect(hijacked.questionCount("shop.example.com") > 0)
        }

        @Test func `Python looks names up and talks TLS by name`() throws {
            let scene = try Scene()
            let found = try scene.run(
                "python3", "-c",
                """
                import socket
                found = socket.getaddrinfo("www.example.com", 443, type=socket.SOCK_STREAM)
                print("\\n".join(entry[4][0] for entry in found))
                """)
            #expect(Set(found.lines) == ["192.0.2.1", "192.0.2.2", "2001:db8::1"], "\(found.errors)")
            let page = try scene.run(
                "python3", "-c",
                """
                from urllib.request import ProxyHandler, build_opener
                print(build_opener(ProxyHandler({})).open("https://blog.example.com/").read().decode(), end="")
                """)
            #expect(page.lines == ["blog.example.com blog.example.com"], "\(page.errors)")
        }

        @Test func `Python gets an error for a missing name`() throws {
            let scene = try Scene(.doh)
            let outcome = try scene.run(
                "python3", "-c",
                """
                import socket
                try:
                    socket.getaddrinfo("none.example.com", 443)
                except socket.gaierror as error:
                    print(error.errno == socket.EAI_NONAME)
                """)
            #expect(outcome.lines == ["True"], "\(outcome.errors)")
        }

        @Test func `Node looks names up through the C library and by itself`() throws {
            let scene = try Scene()
            let outcome = try scene.run(
                "node", "-e",
                """
                const dns = require("dns").promises
                const sorted = list => list.sort().join(" ")
                async function run() {
                    console.log(sorted((await dns.lookup("www.example.com", { all: true })).map(x => x.address)))
                    console.log(sorted(await dns.resolve4("www.example.com")))
                    console.log(sorted(await dns.resolve6("www.example.com")))
                    await dns.resolve6("four.example.com").catch(error => console.log(error.code))
                }
                run()
                """)
            #expect(
                outcome.lines == [
                    "192.0.2.1 192.0.2.2 2001:db8::1", "192.0.2.1 192.0.2.2", "2001:db8::1", "ENODATA",
                ], "\(outcome.errors)")
            let page = try scene.run(
                "node", "-e",
                """
                require("https").get("https://shop.example.com/", reply => reply.pipe(process.stdout))
                """)
            #expect(page.lines == ["shop.example.com shop.example.com"], "\(page.errors)")
        }

        @Test func `Node's own resolver gets 200 addresses over TCP, and an error for a missing name`() throws {
            let host = try ClientHost()
            let stage = try Stage(.doh, .large("large.example.com", count: 200), inside: host)
            let outcome = try host.run([
                "node", "-e",
                """
                const dns = require("dns").promises
                dns.resolve4("large.example.com").then(list => console.log(list.length))
                    .then(() => dns.resolve4("none.example.com")).catch(error => console.log(error.code))
                """,
            ])
            #expect(outcome.lines == ["200", "ENOTFOUND"], "\(outcome.errors)")
            withExtendedLifetime(stage) {}
        }
    }
}
