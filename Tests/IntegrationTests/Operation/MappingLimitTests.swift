import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// A limit of what the process may map, as of `ulimit -v`.
    struct MappingLimitTests {
        @Test func `a flood of names that hang stays within the limit, and cached names are answered`() throws {
            let vendor = try FakeHTTPDNS(FakeZone("www.example.com", a: ["192.0.2.1"]))
            let silent = try TestDNSClient(TestAddress("127.0.0.1", port: 9))
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url) + DaemonConfiguration.rest(localDNS: silent.localAddress),
                listen: "udp_threads = 2",
                wrapper: ["prlimit", "--as=\(300 << 20)"])
            #expect(daemon.waitForLog { $0.contains("memory is limited to") })
            let client = try daemon.client()
            #expect(try client.ask("www.example.com").addresses == ["192.0.2.1"])
            vendor.misbehave(.hang)
            let flooders = try (1...100).map { try daemon.client(from: "127.0.1.\($0)") }
            for number in 0..<24_000 {
                try flooders[number % flooders.count].send(
                    .query("host-\(number).example.com", id: UInt16(number & 0xffff), edns: TestEDNS()))
                // Else the kernel would drop most of them.
                if number % 64 == 0 { #expect(try client.ask("www.example.com").addresses == ["192.0.2.1"]) }
            }
            #expect(daemon.isRunning)
            #expect(try daemon.stop() == 0)
        }
    }
}
