import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// `httpdnsd doctor`, on a machine of its own with one fault each.
    @Suite(.serialized, .requires(.networkNamespaces))
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

        @Test func `a server that refuses what this machine asks is found`() throws {
            let machine = try Machine(listen: "allow = [\"10.0.0.0/8\"]")
            try machine.finds(["server.refuses"])
            let outcome = try machine.doctor()
            #expect(outcome.status == 1)
            #expect(outcome.output.contains("127.0.0.1 is not in listen.allow"), "\(outcome.output)")
        }

        @Test(.requires(.otherUser))
        func `a user that may not see what holds the port learns that, and of another DNS server there`() throws {
            let machine = try Machine(runs: false)
            // Where any user may read it.
            let executable = machine.directory.path + "/httpdnsd"
            try FileManager.default.copyItem(atPath: Daemon.executable, toPath: executable)
            func doctor() throws -> ChildProcess.Outcome {
                try machine.host.run(
                    ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", executable, "doctor", "--config"]
                        + [machine.file])
            }
            let address = TestAddress("127.0.0.1", port: 53)
            var holder: TestSocket? = try machine.host.namespace.inside { try TestSocket.listener(address) }
            let held = try doctor()
            #expect(held.status == 1)
            #expect(
                held.output.contains("127.0.0.1:53 does not answer, and only root may see what program holds it"),
                "\(held.output)\(held.errors)")
            try machine.finds(["port.held"])
            withExtendedLifetime(holder) {}
            holder = nil
            let other = try machine.host.namespace.inside { try FakeLocalDNS(Stage.zone, port: 53) }
            let answered = try doctor()
            #expect(answered.status == 1)
            #expect(
                answered.output.contains("another DNS server than httpdnsd answers on 127.0.0.1:53"),
                "\(answered.output)\(answered.errors)")
            other.stop()
        }

        @Test func `a server that is stopped holds nothing up`() throws {
            let machine = try Machine()
            machine.daemon?.signal(SIGSTOP)
            try machine.finds(["server.silent"])
            machine.daemon?.signal(SIGCONT)
        }

        @Test func `resolv.conf that names another server, or one beside this, is found`() throws {
            let machine = try Machine()
            try machine.finds(["resolver.elsewhere"], resolvConf: "nameserver 192.0.2.53\n")
            let both = "nameserver 127.0.0.1\nnameserver 192.0.2.53\nsearch corp.example\noptions ndots:5\n"
            try machine.finds(["resolver.beside", "resolver.ndots"], resolvConf: both)
        }

        @Test func `a clock that is hours from a provider's is found`() throws {
            let secret = "the-secret-of-the-account-0123"
            let machine = try Machine(secret: secret, own: secret)
            machine.vendor.setClock(ahead: 3 * 3_600)
            try machine.ask()
            try machine.finds(["clock.wrong"])
        }

        @Test func `another server of ours on the port is found`() throws {
            let machine = try Machine(runs: false)
            let (namespace, control) = (machine.host.namespace, machine.directory.path + "/control.sock")
            let first = try Daemon(
                DaemonConfiguration.aliyun("http://127.0.0.1:9") + DaemonConfiguration.rest(), port: 53,
                namespace: namespace)
            let second = try Daemon(
                DaemonConfiguration.aliyun("http://127.0.0.1:9") + DaemonConfiguration.rest(control: control),
                port: 54, namespace: namespace)
            try machine.finds(["port.second"])
            let output = try machine.doctor().output
            #expect(
                output.contains("(process \(first.pid)) than the one of this configuration (process \(second.pid))"))
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

        @Test func `a disk that is full is found`() throws {
            let machine = try Machine(runs: false)
            let disk = machine.directory.path + "/disk"
            try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
            try machine.rewrite("path = \"\"", "path = \"\(disk)/cache.db\"")
            let fill = Machine.after(
                "mount -t tmpfs -o size=1m none \(disk) && head -c 1000k /dev/zero >\(disk)/full")
            let outcome = try machine.doctor(within: fill)
            #expect(outcome.output.contains("the file system of \(disk) has 2 % left"), "\(outcome.output)")
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

        @Test func `programs that ask systemd-resolved, which asks other servers, are found`() throws {
            let machine = try Machine()
            let run = "mount -t tmpfs none /run && mkdir -p /run/systemd/resolve"
            let stub = run + " && echo 'nameserver 192.0.2.53' >/run/systemd/resolve/resolv.conf"
            try machine.finds(
                ["resolver.elsewhere"], resolvConf: "nameserver 127.0.0.53\n", within: Machine.after(stub))
            let order = try machine.directory.write("hosts: files resolve [!UNAVAIL=return] dns\n", to: "order")
            let service =
                run + " && touch /run/systemd/resolve/io.systemd.Resolve && mount --bind \(order) /etc/nsswitch.conf"
            try machine.finds(["nsswitch.resolved"], within: Machine.after(service))
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
