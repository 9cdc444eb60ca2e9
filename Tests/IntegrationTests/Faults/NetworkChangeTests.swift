import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// A machine that moves from one network to another, and servers that send our questions back to us.
    @Suite(.requires(.networkNamespaces), .requires(.noSystemResolverLists))
    struct NetworkChangeTests {
        private let host: ClientHost
        private let directory: TemporaryDirectory

        init() throws {
            host = try ClientHost(addresses: ["10.9.5.1", "10.9.5.2"])
            directory = try TemporaryDirectory()
        }

        /// A daemon that reads its resolvers from a file of the test's.
        private func daemon(
            _ extra: String = DaemonConfiguration.route(mode: "localdns-only"), resolvConf: String,
            log: String = "debug"
        ) throws -> Daemon {
            try directory.write(resolvConf, to: "resolv.conf")
            return try Daemon(
                extra + """
                    [localdns]
                    resolv_conf = "\(directory.path)/resolv.conf"
                    certificate_check = "off"
                    [cache.disk]
                    path = ""
                    [control]
                    socket = "\(directory.path)/control.sock"
                    [log]
                    level = "\(log)"

                    """, port: 53, namespace: host.namespace)
        }

        /// Replaces the list in one step, as the programs that write it do.
        private func replace(_ text: String) throws { try directory.write(text, to: "resolv.conf") }

        private func dig(_ daemon: Daemon, _ name: String) throws -> Dig {
            try Dig(daemon.address, name, namespace: host.namespace)
        }

        /// The LocalDNS of a network: one address for every name.
        private func localDNS(_ address: String, answers: String) throws -> FakeLocalDNS {
            try host.namespace.inside {
                try FakeLocalDNS(FakeZone(["*": .init(a: [answers], ttl: 3_600)]), host: address, port: 53)
            }
        }

        @Test
        func `the resolvers of a new list are asked at once, and the same servers or none are no change`() throws {
            let first = try localDNS("10.9.5.1", answers: "198.51.100.1")
            let second = try localDNS("10.9.5.2", answers: "198.51.100.2")
            let daemon = try daemon(resolvConf: "nameserver 10.9.5.1\n")
            #expect(try dig(daemon, "a.example.com").addresses == ["198.51.100.1"])
            let asked = first.questionCount()
            try replace("# by another program\nnameserver 10.9.5.1\n")
            try replace("# no network\n")
            try replace("nameserver 10.9.5.2\n")
            #expect(daemon.waitForLog { $0.contains("LocalDNS is 10.9.5.2:53") })
            #expect(try dig(daemon, "a.example.com").addresses == ["198.51.100.2"])
            #expect(try dig(daemon, "b.example.com").addresses == ["198.51.100.2"])
            #expect(first.questionCount() == asked)
            #expect(try daemon.status().contains("changed 1 time, last"))
            withExtendedLifetime(second) {}
        }

        @Test func `a list that a reload finds changed is another network, and old answers are not fresh`() throws {
            let first = try localDNS("10.9.5.1", answers: "198.51.100.1")
            let second = try localDNS("10.9.5.2", answers: "198.51.100.2")
            let daemon = try daemon(resolvConf: "nameserver 10.9.5.1\n")
            #expect(try dig(daemon, "a.example.com").addresses == ["198.51.100.1"])
            try replace("nameserver 10.9.5.2\n")
            // Before the watch of the file calls it a change.
            daemon.signal(SIGHUP)
            #expect(daemon.waitForLog { $0.contains("is taken") })
            #expect(try dig(daemon, "a.example.com").addresses == ["198.51.100.2"])
            #expect(try daemon.status().contains("changed 1 time, last"))
            withExtendedLifetime((first, second)) {}
        }

        @Test func `a reload that asks the same resolvers in another way leaves them known`() throws {
            let local = try localDNS("10.9.5.1", answers: "198.51.100.1")
            let daemon = try daemon(resolvConf: "nameserver 10.9.5.1\n")
            let text = try String(contentsOfFile: daemon.configurationFile, encoding: .utf8)
            try text.replacing("[localdns]\n", with: "[localdns]\ntimeout = \"900ms\"\n")
                .write(toFile: daemon.configurationFile, atomically: true, encoding: .utf8)
            daemon.signal(SIGHUP)
            #expect(daemon.waitForLog { $0.contains("is taken") })
            #expect(try daemon.status().contains("10.9.5.1:53"))
            withExtendedLifetime(local) {}
        }

        @Test func `what leads to nothing that is asked is no other network, and a default route is one`() throws {
            let local = try localDNS("10.9.5.1", answers: "198.51.100.1")
            let daemon = try daemon(resolvConf: "nameserver 10.9.5.1\n")
            #expect(try dig(daemon, "a.example.com").addresses == ["198.51.100.1"])
            for change in [
                "address add 127.0.0.9/32 dev lo", "link add pod0 type veth peer name pod1", "link set pod1 up",
                "link set pod0 up", "address add 10.44.0.1/24 dev pod0", "route add 10.244.3.0/24 dev pod0",
                "address add 10.44.0.9/32 dev veth0", "address delete 10.44.0.9/32 dev veth0", "link delete pod0",
            ] {
                try host.namespace.run(["ip"] + change.split(separator: " ").map(String.init))
            }
            // Longer than what changes in a burst is waited for.
            for _ in 0..<30 { #expect(try dig(daemon, "a.example.com").addresses == ["198.51.100.1"]) }
            try host.namespace.run(["ip", "route", "add", "default", "dev", "veth0"])
            #expect(daemon.waitForLog { $0.contains("addresses or routes") })
            #expect(try daemon.status().contains("changed 1 time, last"))
            #expect(try dig(daemon, "a.example.com").addresses == ["198.51.100.1"])
            #expect(local.waitForQuestions(2))
        }

        @Test func `a LocalDNS that sends our questions back is detected, and a storm does not begin`() throws {
            let vendor = try host.namespace.inside { try FakeHTTPDNS(FakeZone("www.example.com", a: ["192.0.2.1"])) }
            let loop = try ResolverProgram.dnsmasq(on: host)
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url) + DaemonConfiguration.route(bypass: ["local.example"])
                    + DaemonConfiguration.rest(
                        localDNS: loop.address, control: directory.path + "/control.sock"), port: 53,
                namespace: host.namespace)
            #expect(daemon.waitForLog { $0.contains("\(loop.address) sends our own questions back to us") })
            #expect(try dig(daemon, "www.example.com").addresses == ["192.0.2.1"])
            #expect(try dig(daemon, "printer.local.example").status == "SERVFAIL")
            #expect(try daemon.status().contains("\(loop.address) forwarding loop"))
            #expect(try daemon.stop() == 0)
            #expect(daemon.errors.split(separator: "\n").count { $0.contains("sends our own questions") } == 1)
        }
    }
}
