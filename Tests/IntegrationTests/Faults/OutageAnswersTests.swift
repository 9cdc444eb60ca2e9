import TestServers
import TestSupport
import Testing

extension Integration {
    /// LocalDNS's answers during an outage of HTTPDNS, and their use afterwards.
    @Suite(.serialized)
    struct OutageAnswersTests {
        private static let name = "www.example.com"
        private static let right = "192.0.2.1"
        /// The longest time for which answers of LocalDNS are used: a verified one, and any other.
        private static let longest: (verified: UInt32, unverified: UInt32) = (600, 60)

        /// Has the name asked for while the provider fails, and again once it answers.
        ///
        /// - Parameter local: the address that LocalDNS returns.
        private func outage(
            _ daemon: Daemon, _ vendor: FakeHTTPDNS, local: String, longest: UInt32, by watch: Stopwatch
        ) throws -> [String] {
            let client = try daemon.client()
            var surprises: [String] = []
            for _ in 0..<2 {
                let reply = try client.ask(Self.name)
                guard reply.addresses == [local], let ttl = reply.answers.first?.ttl else {
                    return ["in the outage: \(reply)"]
                }
                if ttl > longest { surprises.append("a TTL of \(ttl) s") }
            }
            // One name without an answer is no evidence against a provider, and an answer to its probe would show that
            // it works.
            let isInBackoff = daemon.waitForLog { $0.contains(" is in backoff: ") }
            guard isInBackoff else { return surprises + ["no probe has failed"] }
            vendor.misbehave(nil)
            var number = 0
            while try client.ask("other\(number).example.com").addresses != [Self.right] {
                number += 1
                _ = try client.receiveIfAny(within: .milliseconds(50))
                guard watch.elapsed < .patience else { return surprises + ["the provider is not used again"] }
            }
            // At once, or after one refresh.
            let back = watch.fair
            while try client.ask(Self.name).addresses != [Self.right] {
                _ = try client.receiveIfAny(within: .milliseconds(50))
                guard watch.fair - back < DoHStage.limit else {
                    return surprises + ["it outlives the outage by \(watch.fair - back)"]
                }
            }
            return surprises
        }

        private func vendor() throws -> FakeHTTPDNS {
            let vendor = try FakeHTTPDNS(FakeZone("*", a: [Self.right]))
            vendor.misbehave(.status(503))
            return vendor
        }

        @Test(.requires(.networkNamespaces))
        func `a verified answer of LocalDNS lasts ten minutes at most, and is replaced once the provider is back`() {
            let surprises = Scenes.play { watch in
                let servers = try CertificateServers()
                let honest = CertificateServers.Kind.honest.address
                let localDNS = try FakeLocalDNS(FakeZone(Self.name, a: [honest], ttl: 86_400))
                let vendor = try vendor()
                let mount = "mount --bind \"$1\" /etc/ssl/certs/ca-certificates.crt && shift && exec \"$@\""
                let daemon = try Daemon(
                    DaemonConfiguration.aliyun(vendor.url)
                        + DaemonConfiguration.rest(localDNS: localDNS.address, check: "auto", ports: [servers.port]),
                    wrapper: ["unshare", "--mount", "sh", "-c", mount, "sh", servers.authority])
                return try outage(daemon, vendor, local: honest, longest: Self.longest.verified, by: watch)
            }
            #expect(surprises == [])
        }

        @Test func `an unverified answer of LocalDNS is replaced once the provider is back`() {
            let surprises = Scenes.play { watch in
                // No server listens there.
                let (address, port) = ("127.0.66.66", try FreePort.next(on: ["127.0.66.66"]))
                let localDNS = try FakeLocalDNS(FakeZone(Self.name, a: [address], ttl: 3_600))
                let vendor = try vendor()
                let daemon = try Daemon(
                    DaemonConfiguration.aliyun(vendor.url)
                        + DaemonConfiguration.rest(localDNS: localDNS.address, check: "auto", ports: [port]))
                return try outage(daemon, vendor, local: address, longest: Self.longest.unverified, by: watch)
            }
            #expect(surprises == [])
        }
    }
}
