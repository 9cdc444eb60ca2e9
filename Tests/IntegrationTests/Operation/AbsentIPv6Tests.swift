import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// Listen addresses of IPv6 on a kernel that has none.
    struct AbsentIPv6Tests {
        private let kernel: NoIPv6
        private let port: UInt16

        init() throws {
            kernel = try NoIPv6()
            port = try FreePort.next(on: ["127.0.0.1"])
        }

        private static let rest = DaemonConfiguration.aliyun("http://127.0.0.1:9") + DaemonConfiguration.rest()

        private func answers(_ daemon: Daemon) throws -> Bool {
            let query = TestMessage.query("version.bind", RecordType.txt, class: 3)
            let address = TestAddress("127.0.0.1", port: port)
            return try TestDNSClient(address).ask(query).answers.count == 1
                && TestTCPClient(address).ask(query).answers.count == 1
        }

        @Test(arguments: [["::", "0.0.0.0"], ["127.0.0.1", "2001:db8::53"]])
        func `IPv4 is served, and the log says which addresses are not`(hosts: [String]) throws {
            let daemon = try Daemon(Self.rest, on: hosts, port: port, environment: kernel.environment)
            #expect(try answers(daemon))
            let dropped = daemon.addresses.filter { $0.description.hasPrefix("[") }
            #expect(
                daemon.waitForLog { $0.contains("no IPv6 on this machine: serving IPv4 only, without \(dropped[0])") })
            // No user is to wait for an interface that can never have it.
            #expect(!daemon.errors.contains("no interface of this machine has"))
        }

        @Test func `other listeners of IPv6 take DNS over IPv4 no more down than its own`() throws {
            let certificates = try TestCertificates()
            let leaf = try certificates.leaf(names: ["dns.example"], addresses: ["127.0.0.1"])
            let ports = try (0..<3).map { _ in try FreePort.next() }
            let lists = zip(["tls", "https", "httpdns"], ports).map {
                "\($0) = [\"127.0.0.1:\($1)\", \"[::]:\($1)\"]\n"
            }
            let daemon = try Daemon(
                Self.rest, port: port,
                listen: lists.joined() + "certificate = \"\(leaf.certificate)\"\nkey = \"\(leaf.key)\"",
                environment: kernel.environment)
            #expect(try answers(daemon))
            for port in ports {
                #expect(daemon.output.contains("127.0.0.1:\(port)"))
                #expect(daemon.waitForLog { $0.contains("[::]:\(port)") }, "\(daemon.errors)")
            }
            #expect(daemon.errors.contains("serving IPv4 only, without "))
        }

        @Test func `a list of IPv6 alone still keeps the server from starting, and the error says why`() throws {
            let directory = try TemporaryDirectory()
            let file = try directory.write(
                Daemon.listenTable([TestAddress("::", port: port)]) + Self.rest, to: "httpdnsd.toml")
            let outcome = try Daemon.run(["serve", "--config", file], environment: kernel.environment)
            #expect(outcome.status != 0)
            #expect(outcome.errors.contains("IPv6 is switched off here"))
        }
    }
}
