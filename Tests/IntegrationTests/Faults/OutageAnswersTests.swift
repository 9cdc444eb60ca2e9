import TestServers
import TestSupport
import Testing

extension Integration {
    /// LocalDNS's answers during an outage of HTTPDNS, and their use afterwards.
    @Suite(.serialized)
    struct OutageAnswersTests {
        private static let name = CertificateServers.name
        private static let right = "192.0.2.1"

        @Test(.requires(.networkNamespaces))
        func `a verified answer of LocalDNS lasts 30 s at most, and is replaced once the provider is back`()
            throws
        {
            let servers = try CertificateServers()
            let honest = CertificateServers.Kind.honest.address
            let localDNS = try FakeLocalDNS(
                FakeZone([
                    Self.name: .init(a: [honest], ttl: 86_400),
                    CertificateServers.secondName: .init(a: [honest], ttl: 1),
                ]))
            let vendor = try FakeHTTPDNS(FakeZone("*", a: [Self.right]))
            vendor.misbehave(.status(500))
            let mount = "mount --bind \"$1\" /etc/ssl/certs/ca-certificates.crt && shift && exec \"$@\""
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url)
                    + DaemonConfiguration.rest(localDNS: localDNS.address, check: "auto", ports: [servers.port]),
                wrapper: ["unshare", "--mount", "sh", "-c", mount, "sh", servers.authority])
            let client = try daemon.client()
            for _ in 0..<2 {
                let reply = try client.ask(Self.name)
                #expect(reply.addresses == [honest])
                #expect(reply.answers.allSatisfy { $0.ttl <= 30 })
            }
            #expect(try client.ask(CertificateServers.secondName).addresses == [honest])
            // One name without an answer is no evidence against a provider, and an answer to its probe would show that
            // it works.
            #expect(daemon.waitForLog { $0.contains(" is in backoff: ") })
            vendor.misbehave(nil)
            // What LocalDNS denies meanwhile is denied for a while: a name is asked for once.
            let end = ContinuousClock.now + .patience
            var number = 0
            while try client.ask("n\(number).example.com").addresses != [Self.right], ContinuousClock.now < end {
                number += 1
            }
            let second = CertificateServers.secondName
            #expect(try client.ask(second, until: { $0.addresses == [Self.right] }).answers.count == 1)
        }
    }
}
