import Foundation
import Glibc
import TestSupport
import Testing

extension Integration {
    /// `httpdnsd doctor`, on a machine of its own with one fault each.
    @Suite(.serialized, .requires(.networkNamespaces))
    struct DoctorTests {
        /// A machine whose programs ask its server, between a fake vendor and a fake LocalDNS.
        private struct Machine {
            let host: ClientHost
            let vendor: FakeHTTPDNS
            let localDNS: FakeLocalDNS
            let directory: TemporaryDirectory
            let file: String
            private(set) var daemon: Daemon?

            /// - Parameters:
            ///   - extra: more tables of the configuration.
            ///   - secret: what the vendor demands; nil: nothing.
            ///   - own: what the server has, if the vendor demands one.
            ///   - names: the names of the provider, a line of its table.
            ///   - disk: the path of the cache on disk.
            ///   - wrapper: a command that executes the server.
            ///   - runs: whether the server is started.
            init(
                _ extra: String = "", secret: String? = nil, own: String = "another secret of the account",
                names: String = "names = [\"example.com\"]", disk: String = "",
                wrapper: [String] = [], runs: Bool = true
            ) throws {
                (host, directory) = (try ClientHost(), try TemporaryDirectory())
                (vendor, localDNS) = try host.namespace.inside {
                    (try FakeHTTPDNS(Stage.zone, secret: secret), try FakeLocalDNS(FakeZone()))
                }
                let tables =
                    DaemonConfiguration.aliyun(
                        vendor.url, secret: secret == nil ? "" : own,
                        names)
                    + DaemonConfiguration.rest(localDNS: localDNS.address, control: directory.path + "/control.sock")
                    .replacing("path = \"\"", with: "path = \"\(disk)\"") + extra
                file = try directory.write(
                    Daemon.listenTable([TestAddress("127.0.0.1", port: 53)]) + tables, to: "httpdnsd.toml")
                guard runs else { return }
                daemon = try Daemon(tables, port: 53, wrapper: wrapper, namespace: host.namespace)
            }

            /// Asks the server for a name.
            func ask(_ name: String = "www.example.com") throws {
                _ = try host.namespace.inside { try daemon?.client().ask(name) }
            }

            func doctor(
                _ options: String..., resolvConf: String = ClientHost.resolvConf
            ) throws -> ChildProcess.Outcome {
                try host.run([Daemon.executable, "doctor", "--config", file] + options, resolvConf: resolvConf)
            }

            /// The keys of what is found.
            func keys(resolvConf: String = ClientHost.resolvConf) throws -> [String] {
                let text = try doctor("--json", resolvConf: resolvConf).output
                let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
                let checks = object?["checks"] as? [[String: Any]] ?? []
                return checks.flatMap { check in
                    (check["findings"] as? [[String: Any]] ?? []).compactMap { $0["key"] as? String }
                }
            }
        }

        @Test func `of a machine that is well every line says so, and the status is 0`() throws {
            let machine = try Machine()
            try machine.ask()
            let outcome = try machine.doctor()
            #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
            #expect(outcome.lines.count > 15)
            #expect(outcome.lines.allSatisfy { $0.hasPrefix("ok  ") }, "\(outcome.output)")
            #expect(try machine.keys() == [])
        }

        @Test func `a server that does not run is found, and nothing is claimed of what it would know`() throws {
            let machine = try Machine(runs: false)
            #expect(try machine.keys() == ["server.stopped"])
            let outcome = try machine.doctor()
            #expect(outcome.status == 1)
            #expect(outcome.output.contains("!   port         nothing listens on 127.0.0.1:53\n"))
            #expect(outcome.output.contains("`systemctl enable --now httpdnsd`"))
        }

        @Test func `a warning of the configuration is found`() throws {
            #expect(try Machine(names: "").keys() == ["config.warning"])
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

        @Test func `a server that is stopped holds nothing up`() throws {
            let machine = try Machine()
            machine.daemon?.signal(SIGSTOP)
            let watch = Stopwatch()
            let keys = try machine.keys()
            #expect(watch.fair < .seconds(6))
            #expect(keys == ["server.silent"])
            machine.daemon?.signal(SIGCONT)
        }

        @Test func `resolv.conf that names another server, or one beside this, is found`() throws {
            let machine = try Machine()
            #expect(try machine.keys(resolvConf: "nameserver 192.0.2.53\n") == ["resolver.elsewhere"])
            let both = "nameserver 127.0.0.1\nnameserver 192.0.2.53\nsearch corp.example\noptions ndots:5\n"
            #expect(try machine.keys(resolvConf: both) == ["resolver.beside", "resolver.ndots"])
        }

        @Test func `a provider that cannot be reached is found with the reason`() throws {
            let machine = try Machine()
            machine.vendor.stop()
            try machine.ask()
            #expect(try machine.keys() == ["provider.unreachable"])
            let output = try machine.doctor().output
            #expect(output.contains("provider vendor cannot be reached at \(machine.vendor.address): "), "\(output)")
        }

        @Test func `a provider that refuses the account is found`() throws {
            let machine = try Machine(secret: "the secret of the account 0123")
            try machine.ask()
            #expect(try machine.keys() == ["provider.refused"])
        }

        @Test func `a clock that is hours from a provider's is found`() throws {
            let secret = "the secret of the account 0123"
            let machine = try Machine(secret: secret, own: secret)
            machine.vendor.setClock(ahead: 3 * 3_600)
            try machine.ask()
            #expect(try machine.keys() == ["clock.wrong"])
        }

        @Test func `LocalDNS that is gone is found`() throws {
            let machine = try Machine()
            machine.localDNS.stop()
            let isFound = { try machine.keys() == ["localdns.unreachable"] }
            // A server that fails is tried once more before it counts as down.
            for name in ["a.example.net", "b.example.net", "c.example.net"] where try !isFound() {
                try machine.ask(name)
            }
            #expect(try isFound())
        }

        @Test func `LocalDNS that sends our own queries back is found`() throws {
            let machine = try Machine(runs: false)
            let loop = try ForwardingServer.dnsmasq(on: machine.host)
            let text = machine.directory.read("httpdnsd.toml")
                .replacing("\(machine.localDNS.address)", with: "\(loop.address)")
            try machine.directory.write(text, to: "httpdnsd.toml")
            let head = Daemon.listenTable([TestAddress("127.0.0.1", port: 53)])
            let daemon = try Daemon(String(text.dropFirst(head.count)), port: 53, namespace: machine.host.namespace)
            #expect(daemon.waitForLog { $0.contains("sends our own questions back to us") })
            #expect(try machine.keys() == ["loop.found"])
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
            #expect(try machine.keys() == ["port.second"])
            let output = try machine.doctor().output
            #expect(
                output.contains("(process \(first.pid)) than the one of this configuration (process \(second.pid))"))
        }

        @Test func `an nsswitch.conf without DNS is found`() throws {
            let machine = try Machine()
            let order = try machine.directory.write("hosts: files\n", to: "nsswitch.conf")
            let script = "mount --bind \(order) /etc/nsswitch.conf && exec \"$@\""
            let command = [Daemon.executable, "doctor", "--config", machine.file]
            let outcome = try machine.host.run(["sh", "-c", script, "sh"] + command)
            #expect(outcome.status == 1)
            #expect(outcome.output.contains("!   nsswitch     the line hosts: of /etc/nsswitch.conf has no `dns`"))
        }

        @Test func `HTTPDNS that is switched off is found`() throws {
            let machine = try Machine()
            let command = [Daemon.executable, "switch", "off", "--config", machine.file]
            #expect(try machine.host.run(command).status == 0)
            #expect(try machine.keys() == ["switch.off"])
        }

        @Test func `a memory limit that is too low is found`() throws {
            #expect(try Machine("[limits]\nmemory = \"32MiB\"\n").keys() == ["limits.memory"])
        }

        @Test func `authorities that are missing are found`() throws {
            let provider = DaemonConfiguration.doh("https://192.0.2.1", "ca_file = \"/nowhere/ca.pem\"")
            #expect(try Machine(provider).keys() == ["authorities.missing"])
        }

        @Test func `a disk that is full is found`() throws {
            let machine = try Machine(runs: false)
            let disk = machine.directory.path + "/disk"
            try FileManager.default.createDirectory(atPath: disk, withIntermediateDirectories: true)
            let text = machine.directory.read("httpdnsd.toml")
            try machine.directory.write(
                text.replacing("path = \"\"", with: "path = \"\(disk)/cache.db\""), to: "httpdnsd.toml")
            // Seen by this command alone.
            let script =
                "mount -t tmpfs -o size=1m none \(disk) && head -c 1000k /dev/zero >\(disk)/full && exec \"$@\""
            let command = [Daemon.executable, "doctor", "--config", machine.file]
            let outcome = try machine.host.run(["sh", "-c", script, "sh"] + command)
            #expect(outcome.output.contains("the file system of \(disk) has 2 % left"), "\(outcome.output)")
        }

        @Test func `a cache on disk that cannot be used is found`() throws {
            let machine = try Machine(disk: "/proc/httpdnsd/cache.db")
            #expect(machine.daemon?.waitForLog { $0.contains("/proc/httpdnsd") } == true)
            #expect(try machine.keys() == ["disk.unused"])
        }

        @Test func `a limit of open files that is too low is found`() throws {
            let machine = try Machine(wrapper: ["prlimit", "--nofile=512"])
            #expect(try machine.keys() == ["limits.files"])
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
