import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// The control socket, and every command that uses it.
    struct ControlTests {
        private static let local = FakeZone("www.example.com", a: ["198.51.100.1"])

        // MARK: The socket

        @Test func `a server that is stopped holds no command for longer than it may take`() throws {
            let stage = try ControlStage()
            stage.daemon.signal(SIGSTOP)
            defer { stage.daemon.signal(SIGCONT) }
            let outcome = try Daemon.run(["status", "--socket", stage.socket, "--timeout", "300ms"])
            #expect(outcome.status == 1)
            #expect(outcome.errors == "\(stage.socket): no answer within 300 ms: is the server stopped?\n")
        }

        @Test func `a traced query tells step by step how the server answers it, and caches as a client's does`() throws
        {
            let stage = try ControlStage()
            let first = try stage.run("query", "--trace", "www.example.com")
            #expect(first.status == 0)
            for text in [
                "www.example.com A\n", "  route   protect: no list has it\n", "  cache   A is not cached\n",
                "  ask     vendor at \(stage.vendor.address) is asked for A", "  answer  NOERROR, ",
            ] {
                #expect(first.output.contains(text), "\(text): \(first.output)")
            }
            let calls = stage.vendor.callCount()
            let second = try stage.json("query", "--trace", "www.example.com")
            #expect(second["source"] as? String == "cache" && stage.vendor.callCount() == calls)
            #expect(try stage.run("query", "--trace", "--via", "httpdns", "www.example.com").status == 2)
        }

        @Test func `a traced query names the line of the file that decides, as the file was read`() throws {
            let stage = try ControlStage(extra: "[route]\nbypass = [\n\"corp.example\",\n]\n")
            let hosts = try stage.directory.write("\n192.0.2.9 static.example.com\n", to: "hosts")
            let file = stage.daemon.configurationFile
            let text = try String(contentsOfFile: file, encoding: .utf8)
            let line =
                (text.split(separator: "\n", omittingEmptySubsequences: false).firstIndex {
                    $0.contains("corp.example")
                } ?? 0) + 1
            let first = { name in try stage.run("query", "--trace", name).output.split(separator: "\n")[1] }
            #expect(
                try first("www.corp.example").hasSuffix("  bypass: route.bypass has corp.example (\(file):\(line))"))
            try stage.rewrite("# One line more.\n" + text + "[preset]\nhosts_file = \"\(hosts)\"\n")
            #expect(try first("www.corp.example").hasSuffix(":\(line))"))
            #expect(try stage.run("reload").status == 0)
            #expect(try first("www.corp.example").hasSuffix(":\(line + 1))"))
            #expect(
                try first("static.example.com").hasSuffix(
                    "  answered here: a preset has static.example.com (\(hosts):2)"))
        }

        // MARK: Commands

        @Test func `status shows providers, LocalDNS, cache and what can be forged`() throws {
            let stage = try ControlStage(localDNS: Self.local)
            _ = try stage.ask("www.example.com")
            _ = try stage.ask("www.example.com")
            let status = try stage.json("status")
            #expect(status["pid"] as? Int == Int(stage.daemon.pid))
            #expect(status["config"] as? String == stage.daemon.configurationFile)
            #expect(status["switch"] as? String == "on")
            // The release is not in the future of the machine that runs the tests.
            #expect(status["clock"] as? String == "")
            #expect(status["forgeable"] as? [String] == ["vendor"])
            let provider = (status["providers"] as? [[String: Any]])?.first
            #expect(provider?["requests"] as? Int == 1 && provider?["failures"] as? Int == 0)
            #expect((status["cache"] as? [String: Any])?["entries"] as? Int == 2)
            #expect((status["cache"] as? [String: Any])?["hits"] as? Int == 1)
            let text = try stage.run("status")
            #expect(text.status == 0)
            for part in [
                "vendor: aliyun at", "can be forged or replayed on the path", "\(stage.localDNS.address)", "2 answers",
            ] {
                #expect(text.output.contains(part))
            }
        }

        @Test func `commands without a server say what is wrong, with status 1`() throws {
            let stage = try ControlStage()
            #expect(try stage.daemon.stop() == 0)
            for command in [["status"], ["reload"], ["switch", "off"], ["cache", "list"], ["badip", "list"]] {
                let outcome = try Daemon.run(command + ["--config", stage.daemon.configurationFile])
                #expect(outcome.status == 1)
                #expect(outcome.errors.contains("httpdnsd does not run"))
            }
        }

        @Test(arguments: [
            ["switch"], ["switch", "maybe"], ["badip", "add", "example.com"],
            ["badip", "add", "192.0.2.1", "--for", "soon"], ["cache", "flush"], ["cache", "flush", "a", "--all"],
            ["status", "--timeout=5"], ["status", "--timeout=2h"], ["cache", "show", "a..b"],
            ["cache", "list", "--limit", "-1"], ["healthcheck", "--server", "nowhere"],
        ])
        func `wrong usage has status 2`(arguments: [String]) throws {
            #expect(try Daemon.run(arguments).status == 2)
        }

        @Test func `commands find the socket though the rest of the file cannot be read here`() throws {
            let stage = try ControlStage()
            let text =
                "[[provider]]\ntype = \"aliyun\"\nsecret = \"${NOT_SET_HERE}\"\n[control]\nsocket = \"\(stage.socket)\"\n"
            let file = try stage.directory.write(text, to: "other.toml")
            #expect(try Daemon.run(["status", "--config", file]).status == 0)
            let none = try stage.directory.write("[control]\nsocket = \"\"\n", to: "none.toml")
            #expect(try Daemon.run(["status", "--config", none]).status == 78)
        }

        @Test func `cache list, show and query --via cache show what is cached; flush removes it`() throws {
            let stage = try ControlStage()
            for name in ["www.example.com", "four.example.com"] { _ = try stage.ask(name) }
            let list = try stage.run("cache", "list")
            #expect(list.output.contains("192.0.2.1 192.0.2.2") && list.output.contains("vendor"))
            let entries = try stage.json("cache", "list", "www.example.com")["entries"] as? [[String: Any]]
            #expect(entries?.count == 2)
            let first = entries?.first { $0["type"] as? String == "A" }
            #expect(first?["provider"] as? String == "vendor" && first?["stale"] as? Bool == false)
            #expect((first?["ttl"] as? Int).map { (1...60).contains($0) } == true)
            #expect(try stage.run("cache", "show", "WWW.example.com").output.contains("2001:db8::1"))
            #expect(try stage.run("cache", "show", "none.example.com").status == 1)
            let cached = try stage.run("query", "www.example.com", "--via", "cache")
            #expect(cached.status == 0 && cached.output.contains("192.0.2.2"))
            #expect(try stage.run("query", "four.example.com", "AAAA", "--via", "cache").status == 1)
            let some = try stage.run("cache", "list", "--limit", "1")
            #expect(some.lines.count == 2 && some.errors.contains("there are more"))
            #expect(try stage.run("cache", "flush", "www.example.com").output.hasPrefix("2 answers"))
            #expect(try stage.run("query", "www.example.com", "--via", "cache").status == 1)
            #expect(try stage.run("cache", "flush", "--suffix", "example.com").output.hasPrefix("2 answers"))
            _ = try stage.ask("www.example.com")
            #expect(try stage.json("cache", "flush", "--all")["removed"] as? Int == 2)
            #expect(stage.vendor.callCount("www.example.com") == 2)
        }

        @Test func `the switch turns HTTPDNS off and on at once, and no query is lost`() throws {
            let stage = try ControlStage(localDNS: Self.local)
            #expect(try stage.ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            let names = ["www.example.com"]
            let off = try stage.askWhile(["switch", "off"], names: names)
            #expect(off.outcome.status == 0)
            #expect(try stage.ask("www.example.com").addresses == ["198.51.100.1"])
            #expect(try stage.run("status").output.contains("OFF"))
            let on = try stage.askWhile(["switch", "on"], names: names)
            #expect(on.outcome.status == 0)
            #expect(try stage.ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(off.addresses.union(on.addresses) == ["192.0.2.1", "192.0.2.2", "198.51.100.1"])
        }

        @Test func `the switch, off or on again, outlasts a reload, and a restart without a disk`() throws {
            let stage = try ControlStage(localDNS: Self.local)
            let restarted = {
                try Daemon(
                    DaemonConfiguration.aliyun(stage.vendor.url)
                        + DaemonConfiguration.rest(localDNS: stage.localDNS.address, control: stage.socket))
            }
            let off = try stage.run("switch", "off").output
            #expect(off.contains("until it is switched on") && !off.contains("or the server starts again"))
            #expect(try stage.run("reload").status == 0)
            #expect(try stage.ask("www.example.com").addresses == ["198.51.100.1"])
            try stage.daemon.stop()
            let second = try restarted()
            #expect(try second.client().ask("www.example.com").addresses == ["198.51.100.1"])
            #expect(try Daemon.run(["switch", "on", "--socket", stage.socket]).status == 0)
            try second.stop()
            #expect(try restarted().client().ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
        }

        @Test func `a reported address comes last, its answers are asked for again, and it can be taken back`() throws {
            let stage = try ControlStage()
            #expect(try stage.ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            let report = try stage.run("badip", "add", "192.0.2.1", "--for", "1h")
            #expect(report.output.contains("2 cached answers forgotten"))
            for _ in 0..<10 {
                #expect(try stage.ask("www.example.com").addressesInOrder == ["192.0.2.2", "192.0.2.1"])
            }
            #expect(stage.vendor.callCount("www.example.com") == 2)
            #expect(try stage.run("badip", "list").output.contains("192.0.2.1"))
            #expect(try stage.ask("four.example.com").addresses == ["192.0.2.4"])
            #expect(try stage.run("badip", "add", "192.0.2.4").status == 0)
            #expect(try stage.ask("four.example.com").addresses == ["192.0.2.4"])
            #expect(try stage.run("badip", "remove", "192.0.2.1").status == 0)
            #expect(try stage.run("badip", "remove", "192.0.2.1").status == 1)
            let list = try stage.json("badip", "list")["addresses"] as? [[String: Any]]
            #expect(list?.compactMap { $0["address"] as? String } == ["192.0.2.4"])
        }

        @Test func `healthcheck needs a living server and no control socket`() throws {
            let stage = try Stage()
            let arguments = ["healthcheck", "--config", stage.daemon.configurationFile]
            stage.vendor.stop()
            #expect(try Daemon.run(arguments).status == 0)
            stage.daemon.signal(SIGSTOP)
            #expect(try Daemon.run(arguments).status == 1)
            stage.daemon.signal(SIGCONT)
            #expect(try stage.daemon.stop() == 0)
            #expect(try Daemon.run(arguments).status == 1)
        }

        @Test func `healthcheck takes no other DNS server for this one, and one that refuses it for alive`() throws {
            let other = try FakeLocalDNS(Stage.zone)
            let outcome = try Daemon.run(["healthcheck", "--server", "\(other.address)"])
            #expect(outcome.status == 1)
            #expect(outcome.errors == "\(other.address): another DNS server answers there\n")
            let closed = try Daemon(
                DaemonConfiguration.route(mode: "localdns-only") + DaemonConfiguration.rest(),
                listen: "allow = [\"10.0.0.0/8\"]")
            #expect(try Daemon.run(["healthcheck", "--server", "\(closed.address)"]).status == 0)
        }

        @Test func `the manual page renders without a warning, and names every command`() throws {
            let page = #filePath.replacing(
                "Tests/IntegrationTests/Operation/ControlTests.swift", with: "Documentation/httpdnsd.8")
            let outcome = try ChildProcess.run(
                ["man", "--warnings", "-l", page],
                environment: ["MANWIDTH": "100", "MANPAGER": "cat", "LC_ALL": "C.UTF-8"])
            #expect(outcome.status == 0)
            #expect(outcome.errors.isEmpty, "\(outcome.errors)")
            for word in [
                "serve", "check", "query", "status", "cache list", "cache show", "cache flush", "switch on",
                "badip add", "policy sign", "tail", "reload", "doctor", "healthcheck", "SIGHUP",
                "/run/httpdnsd/control.sock",
                "/etc/httpdnsd/httpdnsd.toml",
            ] {
                #expect(outcome.output.contains(word), "\(word)")
            }
        }
    }
}
