import TestServers
import TestSupport
import Testing

extension Integration {
    /// A service that needs long for some names.
    @Suite struct SlowServiceTests {
        @Test(arguments: [true, false])
        func `names for which a service needs 1.1 to 1.8 s are asked once, and are all the service's`(isHTTP2: Bool)
            throws
        {
            let vendor = try FakeHTTPDNS(FakeZone(["*": .init(a: ["192.0.2.1"])]))
            let certificates = try TestCertificates()
            let nginx = try Nginx(
                certificates.leaf(addresses: ["127.0.0.1"]), backend: vendor, answersItself: false, http2: isHTTP2)
            let localDNS = try FakeLocalDNS(FakeZone(["*": .init(a: ["198.51.100.1"])]))
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(nginx.url, "ca_file = \"\(certificates.authority)\"")
                    + DaemonConfiguration.rest(localDNS: localDNS.address))
            let names = (0..<30).map { "slow\($0).example.com" }
            for (number, name) in names.enumerated() {
                vendor.misbehave(.delay(.milliseconds(1_100 + 23 * number)), for: name)
            }
            let lookups = try BulkClient(daemon.address, window: 30).ask(names.map { TestMessage.Question($0) })
            #expect(lookups.count { $0.reply?.addresses == ["192.0.2.1"] } == 30)
            #expect(names.allSatisfy { vendor.callCount($0) == 1 })
            #expect(try daemon.client().ask("fast.example.com").addresses == ["192.0.2.1"])
        }
    }
}
