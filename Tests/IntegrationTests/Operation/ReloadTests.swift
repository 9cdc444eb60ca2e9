import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// Another configuration without a restart.
    struct ReloadTests {
        private static let other = FakeZone([
            "www.example.com": .init(a: ["192.0.2.9"], ttl: 60), "four.example.com": .init(a: ["192.0.2.8"], ttl: 60),
        ])

        @Test func `another provider answers from the reload on, also what was cached`() throws {
            let stage = try ControlStage()
            let other = try FakeHTTPDNS(Self.other)
            #expect(try stage.ask("www.example.com").addresses.count == 2)
            try stage.rewrite(vendor: other)
            #expect(try stage.run("reload").status == 0)
            #expect(try stage.ask("www.example.com").addresses == ["192.0.2.9"])
            #expect(stage.vendor.callCount() == 1)
        }

        @Test func `a signal that comes while the configuration is read first ends no server`() throws {
            let (vendor, localDNS) = (try FakeHTTPDNS(Self.other), try FakeLocalDNS(FakeZone()))
            let directory = try TemporaryDirectory()
            let names = (0..<100_000).map { "192.0.2.1 host-\($0).example" }
            let file = try directory.write(names.joined(separator: "\n"), to: "hosts")
            let size = names.joined(separator: "\n").utf8.count
            // The kernel counts what the process has read: the file, which is then parsed for some time.
            let wrapper = """
                (until awk '/^rchar/ { exit $2 < \(size) }' /proc/$$/io; do :; done; kill -HUP $$) & exec "$@"
                """
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url) + DaemonConfiguration.rest(localDNS: localDNS.address)
                    + "[preset]\nhosts_file = \"\(file)\"\n", wrapper: ["sh", "-c", wrapper, "sh"])
            #expect(daemon.waitForLog { $0.contains("is taken") })
        }

        @Test func `what does not change retains its cache and its connections`() throws {
            let stage = try ControlStage(localDNS: FakeZone("x.corp.example", a: ["198.51.100.7"]))
            _ = try stage.ask("www.example.com")
            try stage.rewrite(extra: DaemonConfiguration.route(bypass: ["corp.example"]))
            #expect(try stage.run("reload").status == 0)
            #expect(try stage.ask("www.example.com").addresses.count == 2)
            #expect(try stage.ask("x.corp.example").addresses == ["198.51.100.7"])
            _ = try stage.ask("four.example.com")
            #expect(stage.vendor.callCount("www.example.com") == 1)
            #expect(stage.vendor.connections == 1)
        }

        @Test(.requires(.otherUser))
        func `a file that the server may not read is found, and a refused reload until it is mended`() throws {
            let stage = try ControlStage(listen: "user = \"nobody\"")
            let file = stage.daemon.configurationFile
            try chmod(file, "0600")
            // Root is given up after the start alone, which reads it.
            let outcome = try stage.run("check")
            #expect(
                outcome.status == 0 && outcome.errors.contains("(mode 0600, of user 0, and this is user "), "\(outcome)"
            )
            #expect(try stage.run("doctor", "--offline").output.contains("a reload does not take it: "))
            #expect(try stage.run("reload").status == 78)
            #expect(try stage.run("status").output.contains("NOT TAKEN at the last reload"))
            try chmod(file, "0644")
            #expect(try stage.run("doctor", "--offline").output.contains("the last reload was refused"))
            #expect(try stage.run("reload").status == 0)
            #expect(try !stage.run("status").output.contains("NOT TAKEN"))
            #expect(try !stage.run("check").errors.contains("and this is user"))
        }

        @Test func `a certificate with which the next start fails is warned of`() throws {
            let stage = try ControlStage()
            let listener = "tls = [\"127.0.0.1:\(try FreePort.next())\"]"
            try stage.rewrite(listen: "\(listener)\ncertificate = \"/no/file\"\nkey = \"/no/file\"")
            let outcome = try stage.run("reload")
            #expect(outcome.status == 0 && "\(outcome)".contains("at the next start: /no/file"), "\(outcome)")
        }

        private func chmod(_ file: String, _ mode: String) throws {
            #expect(try ChildProcess.run(["chmod", mode, file]).status == 0)
        }

        /// A daemon whose provider and its secret are variables of a file.
        private func variableDaemon(_ directory: TemporaryDirectory, _ vendor: FakeHTTPDNS, _ secret: String) throws
            -> Daemon
        {
            try Daemon(
                DaemonConfiguration.aliyun("http://127.0.0.1:${VENDOR_PORT}", secret: "${VENDOR_SECRET}")
                    + DaemonConfiguration.rest(control: directory.path + "/control.sock"),
                environment: ["VENDOR_SECRET": "of the start"],
                options: ["--environment", try write(vendor, secret, to: directory)])
        }

        private func write(_ vendor: FakeHTTPDNS, _ secret: String, to directory: TemporaryDirectory) throws -> String {
            try directory.write(
                "# Secrets\nVENDOR_PORT=\(vendor.address.port)\nVENDOR_SECRET='\(secret)'\n", to: "environment")
        }

        @Test func `a secret in the file of variables changes with a reload`() throws {
            let directory = try TemporaryDirectory()
            let (old, new) = (try FakeHTTPDNS(Stage.zone, secret: "old"), try FakeHTTPDNS(Self.other, secret: "new"))
            let daemon = try variableDaemon(directory, old, "old")
            #expect(try daemon.client().ask("www.example.com").addresses.count == 2)
            _ = try write(new, "new", to: directory)
            #expect(try Daemon.run(["reload", "--socket", directory.path + "/control.sock"]).status == 0)
            #expect(try daemon.client().ask("www.example.com").addresses == ["192.0.2.9"])
            #expect(old.callCount() == 1 && new.callCount() == 1)
        }

        @Test func `a bad file is refused whole, as check refuses it, and the old one stays in force`() throws {
            let stage = try ControlStage()
            try stage.rewrite(
                Daemon.listenTable(stage.daemon.addresses) + DaemonConfiguration.aliyun("ftp://192.0.2.1")
                    + DaemonConfiguration.rest(control: stage.socket) + "[cache]\nmemroy = \"1MiB\"\n")
            let (check, reload) = (try stage.run("check"), try stage.run("reload"))
            #expect(reload.status == 78)
            #expect(reload.errors == check.errors && reload.errors.contains("cache.memroy"))
            #expect(
                try stage.json("reload")["errors"] as? [String] == reload.errors.split(separator: "\n").map(String.init)
            )
            #expect(try stage.ask("www.example.com").addresses.count == 2)
            #expect(try stage.json("status")["reloads"] as? Int == 0)
            try stage.rewrite(Daemon.listenTable(stage.daemon.addresses) + "surprise")
            stage.daemon.signal(SIGHUP)
            #expect(stage.daemon.waitForLog { $0.contains("the old configuration stays in force") })
            #expect(stage.daemon.isRunning)
        }

        @Test func `what only a start can change is named and stays`() throws {
            let stage = try ControlStage()
            let port = try FreePort.next()
            try stage.rewrite(
                Daemon.listenTable([TestAddress("127.0.0.1", port: port)], "udp_threads = 3")
                    + DaemonConfiguration.aliyun(stage.vendor.url)
                    + DaemonConfiguration.rest(control: stage.socket, controlLines: "http = \"127.0.0.1:9053\"")
                    + "dnstap = \"unix:/nowhere/tap.sock\"\n")
            let reload = try stage.run("reload")
            #expect(reload.status == 0)
            for key in ["listen.addresses", "listen.udp_threads", "control.http", "log.dnstap"] {
                #expect(reload.errors.contains(key))
            }
            #expect(reload.errors.contains("next start"))
            #expect(try stage.ask("www.example.com").addresses.count == 2)
        }

        @Test func `a cache larger than the memory of the start allows is named, and grows at the next`() throws {
            let limits = "[limits]\nmemory = \"128MiB\"\n[cache]\nmemory = "
            let stage = try ControlStage(extra: limits + "\"16MiB\"\n")
            try stage.rewrite(extra: limits + "\"15MiB\"\n")
            #expect(try !stage.run("reload").errors.contains("cache.memory"))
            #expect((try stage.json("status")["cache"] as? [String: Any])?["limit"] as? Int == 15 << 20)
            try stage.rewrite(extra: limits + "\"48MiB\"\n")
            let reload = try stage.run("reload")
            #expect(
                reload.status == 0 && reload.errors.contains("cache.memory") && reload.errors.contains("next start"))
        }

        @Test func `a reload under load loses no query`() throws {
            let stage = try ControlStage()
            let other = try FakeHTTPDNS(Self.other)
            for round in 0..<4 {
                try stage.rewrite(vendor: round % 2 == 0 ? other : nil)
                let run = try stage.askWhile(["reload"], names: ["www.example.com", "four.example.com"])
                #expect(run.outcome.status == 0)
                #expect(run.count >= 200)
            }
        }

        /// With HTTPDNSD_THOROUGH a thousand.
        @Test func `many reloads leave no descriptor, connection or thread behind, and little memory`() throws {
            let stage = try ControlStage()
            let other = try FakeHTTPDNS(Self.other)
            func reload(_ times: Int) throws {
                let line = "url = \"http://localhost/v1/reload\"\n"
                let file = try stage.directory.write(
                    "silent\nunix-socket = \"\(stage.socket)\"\nrequest = \"POST\"\n"
                        + String(repeating: line, count: times),
                    to: "reloads.curl")
                let curl = try ChildProcess(["curl", "--config", file])
                let client = try stage.daemon.client()
                var isOther = false
                while curl.isRunning {
                    // The two alternate, and both are asked, so that there are connections to close.
                    isOther.toggle()
                    try stage.rewrite(vendor: isOther ? other : nil)
                    for name in ["www.example.com", "four.example.com"] { _ = try client.ask(name) }
                }
                #expect(try curl.finish(within: .patience).status == 0)
            }
            try reload(50)
            let before = try Usage(stage.daemon)
            let count = Integration.isThorough ? 1_000 : 200
            try reload(count)
            let after = try Usage(stage.daemon)
            #expect(try stage.json("status")["reloads"] as? Int == count + 50)
            #expect(after.descriptors <= before.descriptors + 4)
            #expect(after.threads <= before.threads)
            #expect(after.memory < before.memory + 32 << 10, "\(before) \(after)")
        }

        /// Resources that a process uses.
        private struct Usage {
            /// 0 for an unprivileged user: descriptors of a process that cannot be dumped are visible to root only.
            let descriptors: Int
            let threads: Int
            /// Resident KiB.
            let memory: Int

            init(_ daemon: Daemon) throws {
                let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.pid)/fd")
                descriptors = open?.count ?? (geteuid() == 0 ? .max : 0)
                threads = try daemon.kernelNumber("Threads")
                memory = try daemon.kernelNumber("VmRSS")
            }
        }
    }
}
