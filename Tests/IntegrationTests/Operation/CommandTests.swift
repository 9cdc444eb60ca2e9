import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// The commands, their output and exit statuses.
    struct CommandTests {
        private static let good =
            Daemon.listenTable([TestAddress("127.0.0.1", port: 5_399)])
            + DaemonConfiguration.aliyun("http://127.0.0.1:9") + DaemonConfiguration.rest()

        @Test func `the command line counts where a preloaded library sets a variable`() throws {
            let library = try SettingLibrary()
            let outcome = try Daemon.run(["--version"], environment: library.environment)
            #expect(outcome.status == 0 && outcome.output.hasPrefix("httpdnsd "), "\(outcome.errors)")
            #expect(try Daemon.run(["nonsense"], environment: library.environment).status == 2)
        }

        /// Fills a pipe that does not block, runs a program whose output goes there, and reads it a second later.
        private static let fullPipe = """
            import os, subprocess, sys, threading
            reader, writer = os.pipe()
            os.set_blocking(writer, False)
            filled = 0
            try:
                while True: filled += os.write(writer, b"x" * 4096)
            except BlockingIOError: pass
            program = subprocess.Popen(sys.argv[1:], stdout=writer, stderr=writer)
            try: program.wait(1)
            except subprocess.TimeoutExpired: pass
            isBlocking = os.get_blocking(writer)
            os.close(writer)
            output = b"".join(iter(lambda: os.read(reader, 65536), b""))
            print(program.wait(), isBlocking, output[filled:].decode())
            """

        @Test(arguments: [["help"], ["tail", "--help"], ["check", "--config", "/nowhere"], ["why", ""]])
        func `a pipe that another program has made non-blocking is waited for, and stays so`(arguments: [String]) throws
        {
            let expected = try Daemon.run(arguments)
            let outcome = try ChildProcess.run(["python3", "-c", Self.fullPipe, Daemon.executable] + arguments)
            #expect(outcome.output == "\(expected.status) False \(expected.output)\(expected.errors)\n")
        }

        @Test(arguments: [
            ["cache", "flush", "--suffix", ""], ["cache", "flush", ""], ["query", ""], ["why", ""],
            ["cache", "flush", "b\u{fc}cher.example"], ["tail", "www.example.com "],
        ])
        func `a name that is empty, or not of visible ASCII, is wrong usage`(arguments: [String]) throws {
            let outcome = try Daemon.run(arguments)
            #expect(outcome.status == 2 && outcome.errors.contains("not a name"), "\(outcome.errors)")
        }

        @Test func `check says what answers some names`() throws {
            let text = """
                [[provider]]
                type = "aliyun"
                account = "139450"
                secret = "0123456789abcdef0123456789abcdef"
                names = ["example.com"]
                [route]
                bypass = ["corp.example"]
                [localdns]
                servers = ["192.0.2.53"]

                """
            let outcome = try Daemon.check(text)
            #expect(outcome.status == 0)
            #expect(
                outcome.output.split(separator: "\n").filter { $0.hasPrefix("example") } == [
                    "example   example.com: aliyun, then localdns", "example   corp.example: localdns",
                    "example   www.example.net: localdns",
                ])
        }

        @Test func `check has the same as JSON, with all names of a list and the warnings`() throws {
            let directory = try TemporaryDirectory()
            let names = (0..<12).map { "n\($0).example" }
            let file = try directory.write(
                Daemon.listenTable([TestAddress("127.0.0.1", port: 5_399)])
                    + DaemonConfiguration.aliyun("http://127.0.0.1:9", "names = [\"example.com\"]")
                    + DaemonConfiguration.route(bypass: names)
                    + DaemonConfiguration.rest(disk: "/run/none/cache.sqlite"),
                to: "checked.toml")
            let outcome = try Daemon.run(["check", "--config", file, "--json"])
            #expect(outcome.status == 0 && outcome.errors.isEmpty)
            let report = outcome.json
            #expect(report["bypass"] as? [String] == names)
            #expect(report["errors"] as? [String] == [])
            #expect((report["warnings"] as? [String])?.contains { $0.contains("cache.disk.path") } == true)
            let provider = (report["providers"] as? [[String: Any]])?.first
            #expect(provider?["names"] as? [String] == ["example.com"] && provider?["authenticated"] as? Bool == false)
            let examples = report["examples"] as? [[String: Any]]
            #expect(examples?.last?["sources"] as? [String] == ["localdns"])
        }

        @Test func `a mistake is an error in check's JSON, and status 78`() throws {
            let directory = try TemporaryDirectory()
            let file = try directory.write(Self.good + "[cache]\nmemroy = \"1MiB\"\n", to: "checked.toml")
            let (plain, outcome) = (
                try Daemon.run(["check", "--config", file]), try Daemon.run(["check", "--config", file, "--json"])
            )
            #expect(outcome.status == 78 && outcome.errors.isEmpty)
            let errors = outcome.json["errors"] as? [String]
            #expect(errors == plain.errors.split(separator: "\n").map(String.init) && errors?.count == 1)
        }

        @Test(arguments: [
            ["serve"], ["check"], ["query", "www.example.com"], ["query", "www.example.com", "--via", "cache"],
            ["status"],
            ["cache", "list"], ["switch", "off"], ["badip", "list"], ["reload"], ["doctor"], ["healthcheck"],
            ["healthcheck", "--server", "127.0.0.1:9"], ["status", "--socket", "/nowhere/control.sock"],
        ])
        func `a mistyped configuration file never means another server`(command: [String]) throws {
            let outcome = try Daemon.run(command + ["--config", "/nowhere/httpdnsd.toml"])
            #expect(outcome.status == 78)
            #expect(outcome.errors == "/nowhere/httpdnsd.toml: cannot be read: No such file or directory\n")
        }

        @Test(arguments: ["check", "query"])
        func `a command takes variables from the file that is named`(command: String) throws {
            let directory = try TemporaryDirectory()
            let vendor = try FakeHTTPDNS(Stage.zone, secret: "of-the-file")
            let configuration = try directory.write(
                DaemonConfiguration.aliyun(vendor.url, secret: "${VENDOR_SECRET}") + DaemonConfiguration.rest(),
                to: "httpdnsd.toml")
            let file = try directory.write("VENDOR_SECRET=\"of-the-file\"\n", to: "environment")
            let arguments = [command] + (command == "query" ? ["www.example.com"] : []) + ["--config", configuration]
            #expect(try Daemon.run(arguments).status == 78)
            #expect(try Daemon.run(arguments + ["--environment", file]).status == 0)
            #expect(vendor.callCount() == (command == "query" ? 1 : 0))
            let outcome = try Daemon.run(arguments + ["--environment", "/nowhere/environment"])
            #expect(outcome.status == 78)
            #expect(outcome.errors == "/nowhere/environment: cannot be read: No such file or directory\n")
        }

        @Test func `check shows lists, clients, absent addresses and the cache`() throws {
            let names = (0..<12).map { "n\($0).example" }
            let outcome = try Daemon.check(
                """
                [listen]
                addresses = ["127.0.0.1:5399", "192.0.2.1:5399"]
                allow = ["127.0.0.0/8", "192.0.2.0/24"]

                """ + DaemonConfiguration.aliyun("http://127.0.0.1:9", "names = [\"example.com\"]")
                    + DaemonConfiguration.route(protect: ["www.example.com"], bypass: names)
                    + DaemonConfiguration.rest())
            #expect(outcome.status == 0)
            for line in [
                "listen    127.0.0.1:5399, 192.0.2.1:5399 (not on this machine yet)",
                "allow     127.0.0.0/8, 192.0.2.0/24", "protect   www.example.com",
                "bypass    \(names.prefix(10).joined(separator: ", ")) and 2 more",
                "cache     64 MiB of memory, no file",
            ] { #expect(outcome.output.contains(line + "\n"), "\(outcome.output)") }
            #expect(outcome.output.contains(", for example.com"))
            #expect(outcome.output.contains("can be forged or replayed on the path"))
        }

        @Test(arguments: [
            ("https://www.example.com/a", "; ask for www.example.com"),
            ("http://u@x.example:80?q", "; ask for x.example"),
            ("ftp://", ""), ("https://[2001:db8::1]:8443/a", ""),
        ])
        func `query refuses a URL`(url: String, advice: String) throws {
            let outcome = try Daemon.run(["query", url])
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains("\(url): a URL, not a name\(advice)\n"))
        }

        @Test func `query looks up an address's name, and wants names, addresses and types that are such`() throws {
            let stage = try Stage()
            for (address, name) in [
                ("192.0.2.1", "1.2.0.192.in-addr.arpa"),
                ("2001:db8::1f", "f.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"),
            ] {
                let arguments = ["query", "--config", stage.daemon.configurationFile, "-x", address]
                #expect(try Daemon.run(arguments).output.hasPrefix("\(name) PTR: "))
                #expect(try Daemon.run(arguments + ["TXT"]).output.hasPrefix("\(name) TXT: "))
            }
            for words in [[], ["-x", "www.example.com"], ["-x", "192.0.2.1", "NOTYPE"]] {
                #expect(try Daemon.run(["query"] + words).status == 2, "\(words)")
            }
        }

        @Test(arguments: [
            (["query", "www.example.com", "--via"], "httpdns localdns cache"), (["check", "--config"], "one.toml"),
        ])
        func `bash completes the sources of a query and the configuration files`(
            words: [String], completions: String
        ) throws {
            let directory = try TemporaryDirectory()
            for file in ["one.toml", "two.txt"] { _ = try directory.write("", to: file) }
            let script = try directory.write(
                try Daemon.run(["--generate-completion-script", "bash"]).output, to: "completion.bash")
            let line = (["httpdnsd"] + words).joined(separator: " ")
            let outcome = try ChildProcess.run([
                "bash", "-c",
                """
                cd \(directory.path) && source \(script) && COMP_WORDS=(\(line) "") COMP_CWORD=\(words.count + 1) \
                    COMP_LINE="\(line) " COMP_POINT=\(line.utf8.count + 1)
                _httpdnsd httpdnsd "" \(words.last ?? "")
                echo "${COMPREPLY[@]}"
                """,
            ])
            #expect(outcome.output == completions + "\n")
        }

        @Test func `a misspelt command is named with the nearest one`() throws {
            let outcome = try Daemon.run(["qurey", "www.example.com"])
            #expect(
                outcome.status == 2 && outcome.errors == "httpdnsd: there is no command qurey; did you mean query?\n")
            #expect(try Daemon.run(["help"]).status == 0)
            #expect(try !Daemon.run(["query", "--no-such"]).errors.contains("there is no command"))
        }

        @Test func `check shows every listener and account, and warns of what anyone may see or forge`() throws {
            let text = Self.good.replacing(
                "[listen]",
                with: "[[account]]\nid = \"139450\"\ndaily_limit = 7\n[listen]\nhttpdns = [\"127.0.0.1:8080\"]"
            ).replacing("[control]", with: "[control]\nhttp = \"198.51.100.1:9053\"")
            let outcome = try Daemon.check(text)
            for line in [
                "httpdns   127.0.0.1:8080", "account   139450: ", "7 names a day", "monitor   198.51.100.1:9053",
            ] {
                #expect(outcome.output.contains(line), "\(outcome.output)\(outcome.errors)")
            }
            #expect(outcome.errors.contains("warning: control.http: 198.51.100.1:9053 is reached from the internet"))
        }

        @Test func `check --ask asks every provider at once, and warns of those that do not answer`() throws {
            let vendor = try FakeHTTPDNS(Stage.zone)
            let text =
                Daemon.listenTable([TestAddress("127.0.0.1", port: 5_399)])
                + DaemonConfiguration.aliyun(vendor.url, "names = [\"www.example.com\"]")
                + DaemonConfiguration.doh("http://127.0.0.1:9", "names = [\"example.org\"]")
                + DaemonConfiguration.rest()
            let directory = try TemporaryDirectory()
            let file = try directory.write(text, to: "asked.toml")
            let outcome = try Daemon.run(["check", "--ask", "--config", file])
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.errors.contains("warning: provider doh does not answer: "), "\(outcome.errors)")
            #expect(!outcome.errors.contains("provider vendor does not answer"), "\(outcome.errors)")
            #expect(vendor.callCount() == 1)
        }

        @Test func `check warns of a provider whose host depends on LocalDNS alone`() throws {
            func warnings(_ lines: String) throws -> Int {
                let text = lines + DaemonConfiguration.rest(localDNS: TestAddress("192.0.2.53", port: 53))
                return try Daemon.check(text).errors.split(separator: "\n").count {
                    $0.contains("through LocalDNS alone")
                }
            }
            let host = "dns.vendor.example"
            let named = DaemonConfiguration.doh("https://\(host)")
            let known = DaemonConfiguration.doh("https://192.0.2.1", name: "known")
            #expect(try warnings(named) == 1)
            #expect(try warnings(named + known) == 0)
            #expect(try warnings(known) == 0)
            #expect(try warnings(DaemonConfiguration.doh("https://\(host)", "addresses = [\"192.0.2.1\"]")) == 0)
            #expect(try warnings(named + known + DaemonConfiguration.route(bypass: ["vendor.example"])) == 1)
            let other = DaemonConfiguration.doh("https://192.0.2.1", name: "known", "names = [\"example.net\"]")
            #expect(try warnings(named + other) == 1)
        }

        @Test func `query asks the source that is named`() throws {
            let stage = try Stage(localDNS: FakeZone("www.example.com", a: ["198.51.100.1"]))
            let arguments = ["query", "--config", stage.daemon.configurationFile, "www.example.com", "--via"]
            #expect(try Daemon.run(arguments + ["localdns"]).output.contains("198.51.100.1"))
            #expect(try Daemon.run(arguments + ["httpdns"]).output.contains("192.0.2.1"))
            #expect(try Daemon.run(arguments + ["vendor"]).output.contains("192.0.2.1"))
        }

        @Test func `query leaks no special-use name`() throws {
            let stage = try Stage()
            let arguments = ["query", "--config", stage.daemon.configurationFile]
            #expect(try Daemon.run(arguments + ["secret.onion"]).status == 1)
            #expect(try Daemon.run(arguments + ["localhost"]).output.contains("127.0.0.1"))
            #expect(stage.vendor.requests.isEmpty && stage.localDNS.questionCount() == 0)
        }

        @Test func `listening where a configured server is, is refused`() throws {
            let directory = try TemporaryDirectory()
            let file = try directory.write(
                Self.good + "[[forward]]\nsuffixes = [\"x.example\"]\nservers = [\"127.0.0.1:5398\"]\n", to: "loop.toml"
            )
            let outcome = try Daemon.run(["serve", "--config", file, "--listen", "127.0.0.1:5398"])
            #expect(outcome.status == 78)
            #expect(outcome.errors.contains("127.0.0.1:5398"))
        }

        @Test func `serve listens where the command line says`() throws {
            let address = TestAddress("127.0.0.1", port: try FreePort.next())
            let directory = try TemporaryDirectory()
            let file = try directory.write(Self.good, to: "httpdnsd.toml")
            let process = try ChildProcess([
                Daemon.executable, "serve", "--config", file, "--listen", "\(address)",
            ])
            #expect(process.waitForOutput(.patience) { output, _ in output.contains("\(address)") })
            let reply = try TestDNSClient(address).ask(.query("version.bind", RecordType.txt, class: 3))
            #expect(reply.answers.count == 1)
        }

        @Test func `after SIGTERM flights end, and their clients are answered`() throws {
            let stage = try Stage()
            stage.vendor.misbehave(.hang)
            let client = try stage.daemon.client()
            let connection = try stage.daemon.tcpClient()
            try client.send(.query("www.example.com"))
            try connection.send([.query("www.example.com")])
            _ = try connection.ask(.query("version.bind", RecordType.txt, class: 3))
            #expect(stage.vendor.waitForCalls(1))
            stage.daemon.signal(SIGTERM)
            #expect(stage.daemon.waitForLog { $0.contains("stopping") })
            stage.vendor.misbehave(nil)
            #expect(try client.receive().message.addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(try connection.receive()?.addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(try stage.daemon.finish().status == 0)
        }

        @Test func `the service manager is notified when it serves, reloads and stops`() throws {
            let directory = try TemporaryDirectory()
            let manager = try NotifySocket(directory.path + "/notify")
            let vendor = try FakeHTTPDNS(Stage.zone)
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url) + DaemonConfiguration.rest(),
                environment: ["NOTIFY_SOCKET": directory.path + "/notify"])
            #expect(manager.receive() == "READY=1")
            daemon.signal(SIGHUP)
            #expect(manager.receive().hasPrefix("RELOADING=1\n"))
            #expect(manager.receive() == "READY=1")
            daemon.signal(SIGTERM)
            #expect(manager.receive() == "STOPPING=1")
            #expect(try daemon.finish().status == 0)
        }
    }
}
