import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// A provider that says "not so fast", beside a hijacked LocalDNS.
    struct PaceTests {
        @Test func `names asked for at once are all the provider's, and log and status have its pace`() throws {
            let vendor = try FakeHTTPDNS(FakeZone(["*": .init(a: ["192.0.2.1"])]))
            vendor.misbehave(.atMost(8, taking: .milliseconds(50), else: 429))
            let localDNS = try FakeLocalDNS(FakeZone(["*": .init(a: ["198.51.100.1"])]))
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url)
                    + DaemonConfiguration.rest(
                        localDNS: localDNS.address, log: "info", control: DaemonConfiguration.ownSocket))
            let names = (0..<100).map { TestMessage.Question("n\($0).example.com") }
            let lookups = try BulkClient(daemon.address, window: 100).ask(names)
            #expect(lookups.count { $0.reply?.addresses == ["192.0.2.1"] } == 100)
            #expect(daemon.waitForLog { $0.contains("provider.pace") || $0.contains("not so fast") })
            let text = try daemon.status()
            #expect(text.contains(" at once: it says \"not so fast\""), "\(text)")
        }
    }
}
