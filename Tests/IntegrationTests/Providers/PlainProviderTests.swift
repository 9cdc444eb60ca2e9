import TestServers
import TestSupport
import Testing

extension Integration {
    /// Services in plain http, of which each request takes a connection.
    @Suite(.serialized)
    struct PlainProviderTests {
        @Test(arguments: [0, 100])
        func `of a service that takes its time two hundred names at once are all answered`(milliseconds: Int) throws {
            let vendor = try FakeHTTPDNS(FakeZone(["*": .init(a: ["192.0.2.1"])]))
            vendor.misbehave(.delay(.milliseconds(milliseconds)))
            let daemon = try Daemon(DaemonConfiguration.aliyun(vendor.url) + DaemonConfiguration.rest())
            let names = (0..<200).map { TestMessage.Question("n\($0).example.com", RecordType.a) }
            let lookups = try BulkClient(daemon.address, window: names.count).ask(names)
            #expect(lookups.allSatisfy { $0.reply?.addresses == ["192.0.2.1"] })
            #expect(vendor.waitForOpenConnections(atMost: 8))
        }
    }
}
