import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// `httpdnsd doctor`, on a machine of its own with one fault each.
    @Suite(.requires(.networkNamespaces))
    struct DoctorTests {
        private typealias Machine = DoctorMachine

        @Test func `of a machine that is well every line says so, and the status is 0`() throws {
            let machine = try Machine()
            try machine.ask()
            try machine.finds([])
            let outcome = try machine.doctor()
            #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
            #expect(outcome.lines.count > 15)
            #expect(outcome.lines.first == "all is well")
            #expect(outcome.lines.dropFirst().dropLast().allSatisfy { $0.hasPrefix("ok  ") }, "\(outcome.output)")
            // The server has another copy of the file.
            #expect(outcome.lines.last == "-   unknown      what cannot be said now: reload")
        }

        @Test func `a provider that answers nothing is found before any client asks, unless doctor is offline`() throws
        {
            let machine = try Machine()
            #expect(try machine.doctor().output.contains("ok  providers"))
            machine.vendor.stop()
            let outcome = try machine.doctor()
            #expect(outcome.status == 1 && outcome.lines.first == "1 problem", "\(outcome.output)")
            #expect(outcome.output.contains("!   providers    provider vendor cannot be reached"), "\(outcome.output)")
            #expect(try machine.doctor("--offline").status == 0)
        }

        @Test func `a server that does not run is found, and nothing is claimed of what it would know`() throws {
            let machine = try Machine(runs: false)
            try machine.finds(["server.stopped"])
            let outcome = try machine.doctor()
            #expect(outcome.status == 1)
            #expect(outcome.output.contains("!   port         nothing listens on 127.0.0.1:53\n"))
            #expect(outcome.output.contains("`systemctl enable --now httpdnsd`"))
        }

        @Test func `the program that holds the port is named`() throws {
            let machine = try Machine(runs: false)
            let other = try ChildProcess(
                machine.host.namespace.prefix + [
                    "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
                    "--bind-interfaces", "--listen-address=127.0.0.1", "--pid-file", "--log-facility=-", "--user=root",
                ])
            #expect(other.waitForOutput(.patience) { $1.contains("started") })
            let outcome = try machine.doctor()
            #expect(outcome.status == 1)
            #expect(outcome.output.contains("127.0.0.1:53 is held by dnsmasq (process "), "\(outcome.output)")
        }

        @Test func `what a configuration and the limits of a process make worse is found, each by its key`() throws {
            let providers =
                DaemonConfiguration.doh("http://10.9.0.2:9", "names = [\"example.org\"]")
                + DaemonConfiguration.doh("https://192.0.2.1", name: "other", "ca_file = \"/nowhere/ca.pem\"")
            let machine = try Machine(
                providers + "[limits]\nmemory = \"32MiB\"\n", names: "", wrapper: ["prlimit", "--nofile=512"])
            try machine.finds([
                "authorities.missing", "config.warning", "limits.files", "limits.memory", "provider.forgeable",
            ])
        }

        @Test func `a disk that is mounted read-only is found`() throws {
            let machine = try Machine()
            // In /tmp it would not outlast a restart, which is a warning of its own.
            try machine.rewrite("path = \"\"", "path = \"/mnt/cache.db\"")
            for (option, found) in [("rw", []), ("ro", ["disk.readonly"])] {
                let mount = Machine.after("mount -t tmpfs -o size=1m,\(option) none /mnt")
                try machine.finds(found, within: mount)
            }
        }

        @Test func `a provider that has had its calls of the day is found`() throws {
            let machine = try Machine(names: "names = [\"example.com\"]\ndaily_limit = 1")
            for name in ["www.example.com", "four.example.com"] { try machine.ask(name) }
            try machine.finds(["provider.exhausted"])
            // None of them is doctor's.
            let calls = machine.vendor.requests.count
            _ = try machine.doctor()
            #expect(machine.vendor.requests.count == calls)
        }

        @Test func `a configuration with a mistake is shown, with status 78`() throws {
            let machine = try Machine(runs: false)
            try machine.directory.write("[surprise]\n", to: "httpdnsd.toml")
            let outcome = try machine.doctor()
            #expect(outcome.status == 78)
            #expect(outcome.output.contains("surprise"))
            #expect(try machine.keys().allSatisfy { $0 == "config.refused" })
        }
    }
}
