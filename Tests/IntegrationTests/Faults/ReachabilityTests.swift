import TestServers
import TestSupport
import Testing

extension Integration {
    /// How it is reported that a provider's certificate does not verify.
    struct ReachabilityTests {
        private let certificates: TestCertificates

        init() throws { certificates = try TestCertificates() }

        private func provider(_ nginx: Nginx, _ lines: String = "") -> String {
            DaemonConfiguration.aliyun(
                nginx.url, "ca_file = \"\(certificates.authority)\"\ntls_names = [\"vendor.example\"]\n\(lines)")
        }

        @Test(arguments: [true, false])
        func `a certificate that does not verify is logged once, with what is wrong`(isPinned: Bool) throws {
            let leaf =
                try isPinned
                ? certificates.leaf(names: ["vendor.example"]) : certificates.expiredLeaf(names: ["vendor.example"])
            let pin = isPinned ? "pin = [\"\(try certificates.leaf(names: ["x"]).pin)\"]" : ""
            let fault = isPinned ? "the certificate's key is not one of those in pin" : "the certificate has expired"
            let nginx = try Nginx(leaf)
            let localDNS = try FakeLocalDNS(FakeZone("*", a: ["198.51.100.1"]))
            let daemon = try Daemon(provider(nginx, pin) + DaemonConfiguration.rest(localDNS: localDNS.address))
            let client = try daemon.client()
            for number in 0..<3 {
                #expect(try client.ask("n\(number).example.com").addresses == ["198.51.100.1"])
            }
            #expect(
                daemon.waitForLog { $0.contains("error: vendor: \(nginx.address) is not asked: \(fault)") })
            #expect(try daemon.stop() == 0)
            #expect(daemon.errors.split(separator: "\n").count { $0.contains(fault) && !$0.contains("answer") } == 1)
            #expect(nginx.requests.isEmpty)
        }
    }
}
