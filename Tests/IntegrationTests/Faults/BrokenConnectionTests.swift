import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// Names at which a service ends the connection that they share with others.
    @Suite struct BrokenConnectionTests {
        @Test(arguments: [("goodbye", 1), ("fin", 2), ("reset", 2)])
        func `names at which a service ends its connection cost no other name its answer`(end: String, count: Int)
            throws
        {
            let certificates = try TestCertificates()
            let services = try (0..<count).map { _ in
                try ScriptedHTTP2(certificates.leaf(addresses: ["127.0.0.1"]), [.doh])
            }
            let localDNS = try FakeLocalDNS(FakeZone(["*": .init(a: ["198.51.100.1"])]))
            let providers = services.enumerated().map { number, service in
                """
                [[provider]]
                type = "doh"
                name = "service\(number)"
                url = "https://127.0.0.1:\(service.port)/dns-query"
                ca_file = "\(certificates.authority)"

                """
            }
            let daemon = try Daemon(providers.joined() + DaemonConfiguration.rest(localDNS: localDNS.address))
            _ = try daemon.client().ask("first.example.com")
            let names = (0..<20).flatMap { ["\(end)\($0).example.com", "victim\($0).example.com"] }
            let client = try BulkClient(daemon.address, window: names.count)
            let lookups = try client.ask(names.map { TestMessage.Question($0) }) { place in
                if place.isMultiple(of: 2) { Thread.sleep(forTimeInterval: count == 1 ? 0.2 : 0.025) }
            }
            let victims = lookups.filter { $0.question.name.hasPrefix("victim") }
            #expect(victims.count { $0.reply?.addresses == ["192.0.2.1"] } == 20)
        }
    }
}
