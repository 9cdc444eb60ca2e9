import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// `httpdnsd resolver`, on the files of machines that are managed in different ways.
    struct ResolverCommandTests {
        private static let file = "etc/resolv.conf"
        private static let before = "etc/resolv.conf.before-httpdnsd"

        /// Where /etc is empty: a fault by which paths lead out of a folder is not to change this machine.
        private static let aside = NetworkNamespace.arePermitted ? ["unshare", "-Urm", "sh", "-c", emptied, "sh"] : []
        private static let emptied = "mount -t tmpfs none /etc && exec \"$@\""

        /// The files of a machine, below a folder of the test.
        private struct Machine {
            let directory: TemporaryDirectory

            /// - Parameters:
            ///   - resolvConf: the text of /etc/resolv.conf; nil: there is none.
            ///   - link: where /etc/resolv.conf leads, instead of a text.
            init(_ resolvConf: String?, link: String? = nil, _ more: [String: String] = [:], folders: [String] = [])
                throws
            {
                directory = try TemporaryDirectory()
                try folder("etc")
                for name in folders { try folder(name) }
                for (name, text) in more { try write(text, to: name) }
                if let resolvConf { try write(resolvConf, to: file) }
                if let link {
                    try FileManager.default.createSymbolicLink(atPath: path(file), withDestinationPath: link)
                }
            }

            /// A machine whose programs ask systemd-resolved.
            static func stub(_ more: [String: String] = [:], folders: [String] = ["etc/systemd"]) throws -> Machine {
                try Machine(
                    nil, link: "../" + resolved, more.merging([resolved: "nameserver 127.0.0.53\n"]) { $1 },
                    folders: folders)
            }

            func path(_ name: String) -> String { directory.path + "/" + name }

            func folder(_ name: String) throws {
                try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: true)
            }

            func write(_ text: String, to name: String) throws {
                try folder((name as NSString).deletingLastPathComponent)
                try directory.write(text, to: name)
            }

            func read(_ name: String) -> String { directory.read(name) }

            func resolver(_ words: String...) throws -> ChildProcess.Outcome {
                try ChildProcess.run(aside + [Daemon.executable, "resolver"] + words + ["--root", directory.path])
            }

            /// Expects that `on` does nothing, for this reason.
            func refuses(_ reason: String) throws {
                let was = try picture()
                let outcome = try resolver("on")
                #expect(outcome.status == 1 && outcome.errors.contains(reason), "\(outcome.errors)")
                #expect(try picture() == was)
            }

            /// Every file with its text, or the place to which it leads.
            func picture() throws -> [String: String] {
                var found: [String: String] = [:]
                for name in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
                    let link = try? FileManager.default.destinationOfSymbolicLink(atPath: path(name))
                    found[name] = link.map { "-> \($0)" } ?? read(name)
                }
                return found
            }
        }

        private static let text = "# by an operator\nnameserver 192.0.2.53\nsearch corp.example\noptions timeout:1\n"
        private static let resolved = "run/systemd/resolve/stub-resolv.conf"

        @Test func `a plain file names this server alone, with its other lines, and comes back as it was`() throws {
            let machine = try Machine(Self.text)
            chmod(machine.path(Self.file), 0o640)
            var (was, now) = (stat(), stat())
            stat(machine.path(Self.file), &was)
            #expect(try machine.resolver("status").output == "off: /etc/resolv.conf names 192.0.2.53\n")
            let outcome = try machine.resolver("on")
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.output == "on: /etc/resolv.conf names 127.0.0.1\n")
            let lines = machine.read(Self.file).split(separator: "\n").filter { !$0.hasPrefix("#") }
            #expect(lines == ["nameserver 127.0.0.1", "search corp.example", "options timeout:1"])
            #expect(try machine.resolver("status").status == 0)
            #expect(try machine.resolver("off").output == "off: /etc/resolv.conf names 192.0.2.53\n")
            stat(machine.path(Self.file), &now)
            #expect(
                now.st_ino == was.st_ino && now.st_mode == was.st_mode && now.st_mtim.tv_nsec == was.st_mtim.tv_nsec)
            #expect(try machine.picture()[Self.file] == Self.text)
            #expect(!FileManager.default.fileExists(atPath: machine.path(Self.before)))
        }

        /// Machines, and what tells each.
        private static let machines: [(text: String?, link: String?, files: [String: String], folders: [String])] = [
            (text, nil, [:], []), (nil, nil, [:], []), ("", nil, [:], []),
            (nil, "../run/resolvconf/resolv.conf", ["run/resolvconf/resolv.conf": text], []),
            (nil, "/nowhere/resolv.conf", [:], []),
            (nil, "../\(resolved)", [resolved: "nameserver 127.0.0.53\n"], ["etc/systemd"]),
            (
                nil, "/run/systemd/resolve/resolv.conf", ["run/systemd/resolve/resolv.conf": text],
                ["etc/systemd/resolved.conf.d"]
            ),
            (
                text, nil, [:],
                ["etc/NetworkManager/conf.d", "etc/cloud/cloud.cfg.d", "etc/dhcp/dhclient-enter-hooks.d"]
            ),
        ]

        @Test(arguments: machines.indices)
        func `on and off leave a machine as it was, however often each is said`(index: Int) throws {
            let (text, link, files, folders) = Self.machines[index]
            let machine = try Machine(text, link: link, files, folders: folders)
            let was = try machine.picture()
            #expect(try machine.resolver("off").status == 0)
            #expect(try machine.picture() == was)
            #expect(try machine.resolver("on").status == 0)
            let on = try machine.picture()
            #expect(on != was)
            #expect(try machine.resolver("on").status == 0)
            #expect(try machine.picture() == on)
            #expect(try machine.resolver("off").status == 0)
            #expect(try machine.picture() == was)
            #expect(try machine.resolver("status").status == 1)
        }

        @Test func `programs that ask systemd-resolved reach this server through it, and the link stays`() throws {
            let machine = try Machine.stub(folders: ["etc/systemd", "etc/NetworkManager/conf.d"])
            #expect(
                try machine.resolver("on").output
                    == "on: /etc/resolv.conf names 127.0.0.53; configured: systemd-resolved\n")
            #expect(try machine.picture()[Self.file] == "-> ../\(Self.resolved)")
            let dropIn = machine.read("etc/systemd/resolved.conf.d/zz-httpdnsd.conf")
            #expect(dropIn.contains("[Resolve]\nDNS=\nDNS=127.0.0.1\nDomains=~.\nDNSSEC=no\nDNSOverTLS=no\n"))
            #expect(try machine.picture()["etc/NetworkManager/conf.d/zz-httpdnsd.conf"] == nil)
        }

        @Test func `systemd-resolved can ask another port, a plain file cannot`() throws {
            let configuration = "[listen]\naddresses = [\"127.0.0.1:5353\"]\n"
            let stub = try Machine.stub(["etc/httpdnsd/httpdnsd.toml": configuration])
            #expect(try stub.resolver("on").status == 0)
            #expect(stub.read("etc/systemd/resolved.conf.d/zz-httpdnsd.conf").contains("DNS=127.0.0.1:5353\n"))
            let plain = try Machine(Self.text, ["etc/httpdnsd/httpdnsd.toml": configuration])
            try plain.refuses("programs ask port 53 alone")
        }

        @Test func `servers that only resolved.conf names are not lost: they must be written first`() throws {
            let machine = try Machine.stub(["etc/systemd/resolved.conf": "[Resolve]\nDNS=192.0.2.53\n"])
            try machine.refuses("/etc/systemd/resolved.conf names servers (DNS=)")
            try machine.write("[localdns]\nservers = [\"192.0.2.53\"]\n", to: "etc/httpdnsd/httpdnsd.toml")
            #expect(try machine.resolver("on").status == 0)
        }

        @Test(
            arguments: ["run", "usr/local/lib", "etc"],
            ["DNS=9.9.9.9", "DNS=", "Domains=", "DNSSEC=yes", "DNSOverTLS=yes"])
        func `what systemd-resolved reads after ours and goes by is refused, and seen when it comes later`(
            folder: String, setting: String
        ) throws {
            let later = "\(folder)/systemd/resolved.conf.d/zzz-local.conf"
            let (text, servers) = ("[Resolve]\r\n\(setting)\r\n", "[localdns]\nservers = [\"192.0.2.53\"]\n")
            let machine = try Machine.stub([later: text, "etc/httpdnsd/httpdnsd.toml": servers])
            try machine.refuses("/\(later) sets \(setting)")
            let other = try Machine.stub(["etc/httpdnsd/httpdnsd.toml": servers])
            #expect(try other.resolver("on").status == 0)
            try other.write(text, to: later)
            let outcome = try other.resolver("status")
            #expect(
                outcome.status == 1 && outcome.output.hasPrefix("rewritten: /\(later) sets \(setting)"),
                "\(outcome.output)")
        }

        @Test func `what systemd-resolved does not read, since another file has the name, is not refused`() throws {
            let folder = "systemd/resolved.conf.d/zzz-local.conf"
            let machine = try Machine.stub(["run/\(folder)": "[Resolve]\nDNSSEC=yes\n", "etc/\(folder)": ""])
            #expect(try machine.resolver("on").status == 0)
        }

        @Test func `a file whose lines end as on Windows loses its servers, and keeps the rest`() throws {
            let machine = try Machine("search corp.example\r\nnameserver 192.0.2.53\r\noptions rotate\r\n")
            #expect(try machine.resolver("on").status == 0)
            let lines = machine.read(Self.file).split(separator: "\n").dropFirst()
            #expect(lines == ["nameserver 127.0.0.1", "search corp.example", "options rotate"])
        }

        @Test func `NetworkManager, dhclient and cloud-init leave the file alone`() throws {
            let machine = try Machine(
                Self.text,
                folders: ["etc/NetworkManager/conf.d", "etc/cloud/cloud.cfg.d", "etc/dhcp/dhclient-enter-hooks.d"])
            #expect(
                try machine.resolver("on").output
                    == "on: /etc/resolv.conf names 127.0.0.1; configured: NetworkManager, dhclient, cloud-init\n")
            #expect(
                machine.read("etc/NetworkManager/conf.d/zz-httpdnsd.conf").contains("[main]\nrc-manager=unmanaged\n"))
            #expect(machine.read("etc/cloud/cloud.cfg.d/zz-httpdnsd.cfg").contains("manage_resolv_conf: false\n"))
        }

        @Test(.requires(.networkNamespaces))
        func `what a DHCP server names goes where LocalDNS is looked for, and comes back with off`() throws {
            let hooks = "etc/dhcp/dhclient-enter-hooks.d"
            let machine = try Machine(Self.text, folders: [hooks])
            #expect(try machine.resolver("on").status == 0)
            let ours = machine.read(Self.file)
            // As dhclient-script does: hooks may replace its function.
            let script = """
                mount --bind "$1" /etc && . /\(hooks)/httpdnsd && make_resolv_conf
                """
            let outcome = try ChildProcess.run(
                ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", machine.path("etc")],
                environment: [
                    "interface": "eth0", "new_domain_name": "home.example",
                    "new_domain_name_servers": "192.0.2.7 192.0.2.8", "new_dhcp6_name_servers": "fe80::1",
                ])
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(machine.read(Self.file) == ours)
            #expect(try machine.resolver("off").status == 0)
            #expect(
                machine.read(Self.file).split(separator: "\n") == [
                    "search home.example", "nameserver 192.0.2.7", "nameserver 192.0.2.8", "nameserver fe80::1%eth0",
                ])
        }

        @Test(arguments: [
            "# Generated by resolvconf\nnameserver 192.0.2.53\n", "# Generated by dhcpcd from eth0.dhcp\n",
            "# resolv.conf(5) file generated by tailscale\n", "# This file was automatically generated by WSL.\n",
        ])
        func `a file that another program would write again is refused, with what to do`(text: String) throws {
            let machine = try Machine(text, folders: ["etc/NetworkManager/conf.d"])
            try machine.refuses("writes /etc/resolv.conf, and would do so again: ")
        }

        @Test(.requires(.networkNamespaces))
        func `a file that a container's engine has mounted is refused, with what to do`() throws {
            let machine = try Machine(Self.text, folders: ["etc/NetworkManager/conf.d"])
            let was = try machine.picture()
            let mounted = try machine.directory.write("nameserver 192.0.2.1\n", to: "mounted")
            defer { unlink(mounted) }
            let script = "mount --bind \"$1\" \"$2/\(Self.file)\" && exec \"$3\" resolver on --root \"$2\""
            let outcome = try ChildProcess.run(
                Self.aside + ["sh", "-c", script, "sh", mounted, machine.directory.path, Daemon.executable])
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("it is a mount, as in a container"), "\(outcome.errors)")
            unlink(mounted)
            #expect(try machine.picture() == was)
        }

        @Test func `a file that another program wrote meanwhile is noticed, and stays when it is switched off`() throws
        {
            let machine = try Machine(Self.text)
            #expect(try machine.resolver("on").status == 0)
            let other = "nameserver 192.0.2.99\n"
            try machine.write(other, to: Self.file)
            let status = try machine.resolver("status")
            #expect(status.status == 1)
            #expect(
                status.output
                    == "rewritten: another program has written /etc/resolv.conf since `resolver on`; /etc/resolv.conf names "
                    + "192.0.2.99: `httpdnsd resolver on` takes it again\n")
            #expect(try machine.resolver("off").status == 0)
            #expect(try machine.picture() == ["etc": "", Self.file: other])
        }

        @Test func `after another program wrote the file, on takes it again, and off gives the newer one back`() throws
        {
            let machine = try Machine(Self.text)
            #expect(try machine.resolver("on").status == 0)
            try machine.write("nameserver 192.0.2.99\n", to: Self.file)
            #expect(try machine.resolver("on").output == "on: /etc/resolv.conf names 127.0.0.1\n")
            #expect(try machine.resolver("off").output == "off: /etc/resolv.conf names 192.0.2.99\n")
        }

        @Test func `a line that is added to our file is noticed, and goes with it`() throws {
            let machine = try Machine(Self.text)
            #expect(try machine.resolver("on").status == 0)
            try machine.write(machine.read(Self.file) + "nameserver 192.0.2.99\n", to: Self.file)
            #expect(try machine.resolver("status").output.hasPrefix("rewritten: "))
            #expect(try machine.resolver("on").output == "on: /etc/resolv.conf names 127.0.0.1\n")
            #expect(try machine.resolver("off").status == 0)
            #expect(machine.read(Self.file) == Self.text)
        }

        @Test func `a drop-in of that name that is not ours is neither overwritten nor removed`() throws {
            let name = "etc/NetworkManager/conf.d/zz-httpdnsd.conf"
            let machine = try Machine(Self.text, [name: "[main]\n"])
            let was = try machine.picture()
            try machine.refuses("is there already")
            #expect(try machine.resolver("off").status == 0)
            #expect(try machine.picture() == was)
        }

        private static let daemonFile = "etc/docker/daemon.json"
        private static let bridge = [
            "etc/httpdnsd/httpdnsd.toml": "[listen]\naddresses = [\"127.0.0.1:53\", \"172.17.0.1:53\"]\n"
        ]

        @Test(arguments: [
            (nil, #"{"dns": ["172.17.0.1"]}"# + "\n"), ("{}\n", #"{"dns": ["172.17.0.1"]}"# + "\n"),
            ("{\n  \"log-driver\": \"none\"\n}\n", "{\"dns\": [\"172.17.0.1\"],\n  \"log-driver\": \"none\"\n}\n"),
        ])
        func `Docker's containers ask an address that they reach, and daemon.json comes back as it was`(
            text: String?, changed: String
        ) throws {
            let machine = try Machine(Self.text, Self.bridge, folders: ["etc/docker"])
            if let text {
                try machine.write(text, to: Self.daemonFile)
                chmod(machine.path(Self.daemonFile), 0o600)
            }
            let was = try machine.picture()
            for _ in 1...2 {
                #expect(try machine.resolver("on").status == 0)
                #expect(machine.read(Self.daemonFile) == changed)
                var status = stat()
                #expect(stat(machine.path(Self.daemonFile), &status) == 0)
                #expect(status.st_mode & 0o777 == (text == nil ? 0o644 : 0o600))
            }
            let outcome = try machine.resolver("off")
            #expect(outcome.status == 0 && outcome.errors.contains("once Docker is restarted"))
            #expect(try machine.picture() == was)
        }

        @Test func `a daemon.json that names servers or is too long stays, and so it does beside loopback`() throws {
            let text = "{\"dns\": [\"192.0.2.53\"]}\n"
            let named = try Machine(Self.text, Self.bridge.merging([Self.daemonFile: text]) { $1 })
            let outcome = try named.resolver("on")
            #expect(outcome.status == 0 && outcome.errors.contains("and stays: write [\"172.17.0.1\"] there"))
            #expect(named.read(Self.daemonFile) == text)
            let long = try Machine(Self.text, Self.bridge, folders: ["etc/docker"])
            let labels = "{\"labels\": [\"\(String(repeating: "a", count: 70_000))\"]}\n"
            try long.write(labels, to: Self.daemonFile)
            #expect(try long.resolver("on").errors.contains("and stays: write"))
            #expect(long.read(Self.daemonFile) == labels)
            let loopback = try Machine(Self.text, folders: ["etc/docker"])
            #expect(try loopback.resolver("on").errors.contains("containers of Docker do not reach 127.0.0.1"))
            #expect(!FileManager.default.fileExists(atPath: loopback.path(Self.daemonFile)))
        }

        @Test(.requires(.networkNamespaces))
        func `on a disk that is full daemon.json stays as it was, and the reason is said`() throws {
            let machine = try Machine(Self.text, Self.bridge, folders: ["etc/docker"])
            let folder = machine.path("etc/docker")
            // Three pages: two for the file that is there, and one of the two that a new one needs.
            let script = """
                mount -t tmpfs -o size=12k none '\(folder)' &&
                printf '{"labels": ["%06000d"]}' 0 >'\(machine.path(Self.daemonFile))' && "$@"
                echo "status $?"
                cd '\(folder)' && wc -c *
                """
            let outcome = try ChildProcess.run(
                ["unshare", "-Urm", "sh", "-c", script, "sh", Daemon.executable, "resolver", "on", "--root"]
                    + [machine.directory.path])
            #expect(outcome.output.hasSuffix("status 1\n6016 daemon.json\n"), "\(outcome.output)")
            #expect(outcome.errors.contains("daemon.json: No space left on device"), "\(outcome.errors)")
        }

        @Test func `a daemon.json that was changed since stays as it is`() throws {
            let machine = try Machine(Self.text, Self.bridge, folders: ["etc/docker"])
            #expect(try machine.resolver("on").status == 0)
            let text = "{\"dns\": [\"172.17.0.1\"], \"debug\": true}\n"
            try machine.write(text, to: Self.daemonFile)
            #expect(try machine.resolver("off").errors.contains("was changed since, and stays"))
            #expect(machine.read(Self.daemonFile) == text)
            #expect(try machine.resolver("off").errors.isEmpty)
        }

        /// Places in an image where a link to the host may be, and what is there on the host.
        private static let places = [
            "etc", "etc/resolv.conf", "etc/resolv.conf.before-httpdnsd", "etc/NetworkManager",
            "etc/NetworkManager/conf.d",
            "etc/NetworkManager/conf.d/zz-httpdnsd.conf", "etc/cloud/cloud.cfg.d", "etc/docker", daemonFile,
            "etc/docker/daemon.json.before-httpdnsd", "etc/httpdnsd", "etc/httpdnsd/httpdnsd.toml",
            "run/systemd/resolve",
        ]

        /// Everything that `resolver` could find or change, with another server than the image's.
        private func host() throws -> Machine {
            try Machine(
                "nameserver 203.0.113.9\n",
                [
                    Self.before: "nameserver 203.0.113.8\n", Self.daemonFile: "{}",
                    "etc/docker/daemon.json.before-httpdnsd": "{}",
                    "etc/httpdnsd/httpdnsd.toml": "[listen]\naddresses = [\"203.0.113.53:53\"]\n",
                    "etc/NetworkManager/conf.d/zz-httpdnsd.conf":
                        "# Written by `httpdnsd resolver on`, removed by `httpdnsd resolver off`\n",
                    Self.resolved: "nameserver 127.0.0.53\n",
                ], folders: ["etc/cloud/cloud.cfg.d"])
        }

        @Test(arguments: zip(places, (0..<places.count).map { $0.isMultiple(of: 2) }))
        func `what the links of an image lead to on the host stays as it was, and is not read`(
            place: String, isAbsolute: Bool
        ) throws {
            let host = try host()
            let image = try Machine(
                Self.text, Self.bridge,
                folders: ["etc/NetworkManager/conf.d", "etc/cloud/cloud.cfg.d", "etc/docker", "run/systemd"])
            let was = try host.picture()
            try? FileManager.default.removeItem(atPath: image.path(place))
            let up = String(repeating: "../", count: image.path(place).split(separator: "/").count - 1)
            try FileManager.default.createSymbolicLink(
                atPath: image.path(place),
                withDestinationPath: isAbsolute ? host.path(place) : up + host.path(place).dropFirst())
            for action in ["status", "on", "off"] {
                let outcome = try image.resolver(action)
                #expect(!outcome.output.contains("203.0.113."), "\(action): \(outcome.output)")
            }
            #expect(try host.picture() == was)
        }

        @Test(arguments: ["/usr/etc-of-image", "../usr/../usr/etc-of-image", "../../../../usr/etc-of-image"])
        func `the links of an image lead to its own files`(link: String) throws {
            let image = try Machine(nil, ["usr/etc-of-image/resolv.conf": Self.text])
            try FileManager.default.removeItem(atPath: image.path("etc"))
            // A folder behind a link, and a file behind another one in it.
            try FileManager.default.createSymbolicLink(atPath: image.path("etc"), withDestinationPath: "usr/etc-here")
            try FileManager.default.createSymbolicLink(atPath: image.path("usr/etc-here"), withDestinationPath: link)
            let was = try image.picture()
            #expect(try image.resolver("status").output == "off: /etc/resolv.conf names 192.0.2.53\n")
            #expect(try image.resolver("on").status == 0)
            #expect(image.read("usr/etc-of-image/resolv.conf").contains("nameserver 127.0.0.1\n"))
            #expect(try image.resolver("off").status == 0)
            #expect(try image.picture() == was)
        }

        @Test func `status has the same as JSON`() throws {
            let machine = try Machine(Self.text, folders: ["etc/NetworkManager/conf.d"])
            #expect(try machine.resolver("on").status == 0)
            #expect(
                try machine.resolver("status", "--json").output
                    == #"{"state":"on","servers":["127.0.0.1"],"programs":["NetworkManager"]}"# + "\n")
        }

        @Test func `the configured server is named: loopback for a wildcard, IPv6 where all else lacks`() throws {
            for (listen, server) in [("0.0.0.0:53", "127.0.0.1"), ("[::1]:53", "::1"), ("192.0.2.1:53", "192.0.2.1")] {
                let machine = try Machine(
                    Self.text, ["etc/httpdnsd/httpdnsd.toml": "[listen]\naddresses = [\"\(listen)\"]\n"])
                #expect(try machine.resolver("on").output == "on: /etc/resolv.conf names \(server)\n")
            }
        }

        @Test func `the running server says when another program writes the file`() throws {
            let directory = try TemporaryDirectory()
            try directory.write("nameserver 192.0.2.53\n", to: "resolv.conf.before-httpdnsd")
            try directory.write("# Written by `httpdnsd resolver on`\nnameserver 127.0.0.1\n", to: "resolv.conf")
            let daemon = try Daemon(
                DaemonConfiguration.doh("https://192.0.2.1")
                    + """
                    [localdns]
                    resolv_conf = "\(directory.path)/resolv.conf"
                    servers = ["192.0.2.53"]
                    [cache.disk]
                    path = ""
                    [control]
                    socket = "\(directory.path)/control.sock"

                    """)
            let status = { try daemon.status() }
            #expect(try status().contains("resolver  on: the machine's programs ask this server\n"))
            try directory.write("nameserver 192.0.2.99\n", to: "resolv.conf")
            #expect(
                daemon.waitForLog {
                    $0.contains(
                        "another program has written \(directory.path)/resolv.conf since `httpdnsd resolver on`: programs ask 192.0.2.99;"
                    )
                })
            #expect(try status().contains("resolver  REWRITTEN by another program"))
            #expect(try daemon.stop() == 0)
        }

        /// What `resolver on` does and leaves on a machine of its own, whose other files are not there.
        private func switchOn(_ host: ClientHost, _ configuration: String) throws -> ChildProcess.Outcome {
            let script = """
                mount -t tmpfs none /etc && echo 'nameserver 192.0.2.53' >/etc/resolv.conf && {
                    "$@"
                    echo "status $?"
                    cat /etc/resolv.conf
                }
                """
            return try host.run(
                ["sh", "-c", script, "sh", Daemon.executable, "resolver", "on", "--config", configuration])
        }

        @Test(.requires(.networkNamespaces))
        func `on changes nothing where the server refuses what this machine asks`() throws {
            let host = try ClientHost()
            let daemon = try Daemon(
                DaemonConfiguration.route(mode: "localdns-only") + DaemonConfiguration.rest(), port: 53,
                listen: "allow = [\"10.0.0.0/8\"]", namespace: host.namespace)
            let outcome = try switchOn(host, daemon.configurationFile)
            #expect(outcome.output == "status 1\nnameserver 192.0.2.53\n", "\(outcome.errors)")
            #expect(outcome.errors.contains("127.0.0.1 is not in listen.allow"), "\(outcome.errors)")
        }

        @Test(.requires(.networkNamespaces))
        func `on changes nothing where another DNS server answers in this one's place`() throws {
            let (host, directory) = (try ClientHost(), try TemporaryDirectory())
            let other = try host.namespace.inside { try FakeLocalDNS(Stage.zone, port: 53) }
            let file = try directory.write(
                Daemon.listenTable([TestAddress("127.0.0.1", port: 53)]) + DaemonConfiguration.rest(),
                to: "httpdnsd.toml")
            let outcome = try switchOn(host, file)
            #expect(outcome.output == "status 1\nnameserver 192.0.2.53\n", "\(outcome.errors)")
            #expect(outcome.errors.contains("another DNS server answers on 127.0.0.1:53"), "\(outcome.errors)")
            other.stop()
        }

        @Test func `status says so where the file names an address on which the server no longer listens`() throws {
            let machine = try Machine(Self.text)
            #expect(try machine.resolver("on").status == 0)
            try machine.write("[listen]\naddresses = [\"127.0.0.4:53\"]\n", to: "etc/httpdnsd/httpdnsd.toml")
            let status = try machine.resolver("status")
            #expect(status.status == 1)
            #expect(
                status.output
                    == "elsewhere: /etc/resolv.conf names 127.0.0.1, where this server does not listen: `httpdnsd resolver on` writes its address\n"
            )
            #expect(try machine.resolver("status", "--json").output.contains("\"state\":\"elsewhere\""))
            #expect(try machine.resolver("on").output == "on: /etc/resolv.conf names 127.0.0.4\n")
            #expect(try machine.resolver("status").status == 0)
        }

        @Test func `status says where systemd-resolved asks an address on which the server does not listen`() throws {
            let machine = try Machine.stub()
            #expect(try machine.resolver("on").status == 0)
            try machine.write("[listen]\naddresses = [\"127.0.0.1:5353\"]\n", to: "etc/httpdnsd/httpdnsd.toml")
            let status = try machine.resolver("status")
            #expect(status.status == 1)
            #expect(status.output.hasPrefix("elsewhere: systemd-resolved asks 127.0.0.1, where "), "\(status.output)")
            #expect(try machine.resolver("on").status == 0)
            #expect(try machine.resolver("status").status == 0)
        }
    }
}
