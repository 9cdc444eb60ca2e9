import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// A service that returns its addresses in the scheduling call, each with TLS.
    struct ScheduleTests {
        /// One address of the service.
        private struct Site {
            let service: FakeHTTPDNS
            let nginx: Nginx

            /// - Parameter number: the last byte of the address that it answers for every name.
            init(_ certificates: TestCertificates, _ number: Int) throws {
                service = try FakeHTTPDNS(
                    FakeZone(["*": .init(a: ["192.0.2.\(number)"], ttl: 60)]), secret: ScheduleTests.secret)
                nginx = try Nginx(
                    certificates.leaf(addresses: ["127.0.0.1"]), backend: service, answersItself: false)
            }
        }

        private static let secret = "0123456789abcdef0123456789abcdef"
        private let certificates: TestCertificates
        /// The startup address.
        private let startup: Site
        private let localDNS: FakeLocalDNS
        private let directory: TemporaryDirectory

        init() throws {
            certificates = try TestCertificates()
            startup = try Site(certificates, 1)
            localDNS = try FakeLocalDNS(FakeZone(["*": .init(a: ["198.51.100.1"])]))
            directory = try TemporaryDirectory()
        }

        private func daemon(disk: String = "") throws -> Daemon {
            let provider = DaemonConfiguration.aliyun(
                startup.nginx.url, secret: Self.secret,
                "startup_addresses = [\"\(startup.nginx.address)\"]\nca_file = \"\(certificates.authority)\"")
            let rest = DaemonConfiguration.rest(
                localDNS: localDNS.address, disk: disk, diskLines: "flush_interval = \"100ms\"",
                control: DaemonConfiguration.ownSocket)
            return try Daemon(provider + rest)
        }

        @Test func `with one startup address the daemon learns two addresses by a signed call, and asks them`() throws {
            let sites = [try Site(certificates, 2), try Site(certificates, 3)]
            startup.service.schedule = FakeSchedule(sites.map(\.nginx.address))
            let daemon = try daemon()
            #expect(daemon.waitForLog { $0.contains("the service is asked at \(sites[0].nginx.address), ") })
            #expect(try daemon.dig("www.example.com").addresses == ["192.0.2.2"])
            #expect(startup.service.scheduleCount == 1)
            #expect(startup.service.callCount() == 0)
            #expect(try daemon.status().contains("\(sites[1].nginx.address)"))
        }

        @Test func `after a restart the learned addresses are used while the startup address is away`() throws {
            let site = try Site(certificates, 2)
            startup.service.schedule = FakeSchedule([site.nginx.address])
            let disk = directory.path + "/cache.sqlite"
            let first = try daemon(disk: disk)
            #expect(first.waitForLog { $0.contains("the service is asked at \(site.nginx.address)") })
            #expect(try first.stop() == 0)
            startup.service.schedule = nil
            let second = try daemon(disk: disk)
            #expect(second.waitForLog { $0.contains("the service is asked at \(site.nginx.address)") })
            #expect(second.waitForLog { $0.contains("does not return its addresses") })
            #expect(try second.dig("other.example.com").addresses == ["192.0.2.2"])
        }
    }
}
