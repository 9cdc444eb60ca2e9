import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// Whatever becomes of a process that is to replace a running server: one of both serves, and no query is lost.
    struct ReplaceTests {
        /// Why a process cannot start.
        enum Fault: String, CaseIterable {
            case certificate = "certificate"
            case address = "no interface nope0"
            case heldAddress = "address already in use"
            case user = "no such user"
            case descriptors = "raise LimitNOFILE"
        }

        private let directory: TemporaryDirectory
        private let vendor: FakeHTTPDNS
        private let port: UInt16
        private var socket: String { directory.path + "/control.sock" }

        init() throws {
            directory = try TemporaryDirectory()
            vendor = try FakeHTTPDNS(FakeZone(["*": .init(a: ["192.0.2.1"], ttl: 3_600)]))
            port = try FreePort.next(on: ["127.0.0.1"])
        }

        private var configuration: String {
            DaemonConfiguration.aliyun(vendor.url)
                + DaemonConfiguration.rest(
                    log: "info", disk: "\(directory.path)/state/cache.sqlite", control: socket)
        }

        private func daemon(_ options: [String] = ["--replace"], threads: Int = 2) throws -> Daemon {
            try Daemon(configuration, port: port, listen: "udp_threads = \(threads)", options: options)
        }

        /// Starts a process that replaces the server, if it can.
        private func successor(
            _ addresses: [TestAddress]? = nil, listen: String = "udp_threads = 2", wrapper: [String] = []
        ) throws -> ChildProcess {
            let own = [TestAddress("127.0.0.1", port: port)]
            let text = Daemon.listenTable(addresses.map { own + $0 } ?? own, listen) + configuration
            let file = try directory.write(text, to: "successor.toml")
            return try ChildProcess(wrapper + [Daemon.executable, "serve", "--replace", "--config", file])
        }

        /// Plays the other process up to a step.
        private func played(_ role: String, _ step: String) throws -> ChildProcess {
            try ChildProcess(["python3", ClientProgram.source("replacement.py"), role, socket + ".replace", step])
        }

        /// Does something under a steady load, of which no query may be lost.
        ///
        /// - Parameter body: returns what is to live until the last query is answered.
        private func underLoad<Result>(_ body: () throws -> Result) throws {
            let address = TestAddress("127.0.0.1", port: port)
            let client = try TestDNSClient(address)
            for number in 0..<40 { #expect(try client.ask("host-\(number).example.com").rcode == 0) }
            let load = SteadyLoad(address, rate: 1_000) { number in
                number % 100 == 0 ? "new-\(number).example.com" : "host-\(number % 40).example.com"
            }
            #expect(load.wait(20))
            let result = try body()
            #expect(load.wait(60))
            for (kind, count) in load.stop() {
                #expect(count.unanswered == 0 && count.failed == 0 && count.broken == 0, "\(kind): \(count)")
            }
            withExtendedLifetime(result) {}
        }

        private func expectServing(_ process: Int32) throws {
            #expect(try Daemon.run(["status", "--socket", socket]).output.contains("process \(process)"))
            #expect(try TestDNSClient(TestAddress("127.0.0.1", port: port)).ask("host-1.example.com").rcode == 0)
        }

        @Test(arguments: Fault.allCases)
        func `a process that cannot start says why, and the server serves on`(fault: Fault) throws {
            let first = try daemon([])
            let held = try FreePort.next()
            let other = try FakeLocalDNS(FakeZone([:]), port: held)
            try underLoad {
                let second =
                    switch fault {
                    case .certificate:
                        try successor(
                            listen: "tls = [\"127.0.0.1:\(held)\"]\ncertificate = \"/no/file\"\nkey = \"/no/file\"")
                    case .address: try successor(listen: "httpdns = [\"[fe80::1%nope0]:\(held)\"]")
                    case .heldAddress: try successor([TestAddress("127.0.0.1", port: held)])
                    case .user: try successor(listen: "user = \"no-such-user\"")
                    case .descriptors: try successor(wrapper: ["prlimit", "--nofile=12:12"])
                    }
                let outcome = try second.finish(within: .patience)
                #expect(outcome.status != 0)
                #expect(outcome.errors.lowercased().contains(fault.rawValue.lowercased()), "\(outcome.errors)")
                if ![.certificate, .user, .descriptors].contains(fault) {
                    #expect(
                        first.waitForLog {
                            $0.contains("process \(second.pid) was to take over, and failed while it prepared")
                                && $0.lowercased().contains(fault.rawValue.lowercased())
                        }, "\(first.errors)")
                }
                #expect(first.isRunning)
                try expectServing(first.pid)
            }
            withExtendedLifetime(other) {}
        }

        @Test(arguments: ["sockets", "prepared"])
        func `the server serves on when its successor dies, and can be replaced by another one`(step: String) throws {
            let first = try daemon([])
            try underLoad {
                let dying = try played("next", step)
                #expect(try dying.finish(within: .patience).status == 0)
                #expect(first.waitForLog { $0.contains("process \(dying.pid) was to take over, and failed") })
                try expectServing(first.pid)
                let second = try daemon()
                #expect(try first.finish().status == 0)
                try expectServing(second.pid)
                return second
            }
        }

        @Test func `a successor that is silent is given up, and refused when it serves after all`() throws {
            let first = try daemon([])
            try underLoad {
                let silent = try played("next", "silent")
                let outcome = try silent.finish(within: .patience)
                #expect(outcome.output.contains("REPLACE=failed") && outcome.output.hasSuffix("refused\n"))
                #expect(first.waitForLog { $0.contains("the other process has said nothing for 10 s") })
                try expectServing(first.pid)
            }
        }

        @Test func `nothing is changed while a process takes over, and the next one waits its turn`() throws {
            let first = try daemon([])
            let holding = try played("next", "wait")
            #expect(holding.waitForOutput(.patience) { output, _ in output.contains("waiting") })
            let refused = try Daemon.run(["reload", "--socket", socket])
            #expect(refused.status != 0 && refused.errors.contains("another process takes over"))
            #expect(try Daemon.run(["status", "--socket", socket]).status == 0)
            first.signal(SIGHUP)
            let second = try successor()
            holding.signal(SIGKILL)
            #expect(second.waitForOutput(.patience) { output, _ in output.contains("serving DNS") })
            #expect(try first.finish().status == 0)
            try expectServing(second.pid)
        }

        @Test func `of processes that replace the server at once each has its turn`() throws {
            let first = try daemon([])
            try underLoad {
                let others = try (0..<4).map { _ in try successor() }
                #expect(try first.finish().status == 0)
                #expect(eventually { others.count { $0.isRunning } == 1 })
                for each in others where !each.isRunning { #expect(try each.finish(within: .patience).status == 0) }
                for each in others where each.isRunning {
                    #expect(each.waitForOutput(.patience) { output, _ in output.contains("serving DNS") })
                    try expectServing(each.pid)
                }
                return others
            }
        }

        @Test func `where the server dies while it is replaced, the new process serves`() throws {
            let old = try played("old", "dies")
            #expect(old.waitForOutput(.patience) { output, _ in output.contains("listening") })
            let daemon = try daemon()
            #expect(daemon.waitForLog { $0.contains("has ended by itself") })
            #expect(try daemon.client().ask("www.example.com").addresses == ["192.0.2.1"])
        }

        @Test func `a process that the server refuses ends with the reason`() throws {
            let old = try played("old", "fails")
            #expect(old.waitForOutput(.patience) { output, _ in output.contains("listening") })
            let outcome = try successor().finish(within: .patience)
            #expect(outcome.status == 1 && outcome.errors.contains("for a test"))
        }

        @Test func `a process that a signal ends while it takes over leaves the server as it is`() throws {
            let old = try played("old", "holds")
            #expect(old.waitForOutput(.patience) { output, _ in output.contains("listening") })
            let new = try successor()
            #expect(old.waitForOutput(.patience) { output, _ in output.contains("prepared") })
            new.signal(SIGTERM)
            let outcome = try new.finish(within: .seconds(5))
            #expect(outcome.status == 1 && outcome.errors.contains("a signal has ended this process"))
            #expect(try old.finish(within: .patience).output.contains("REPLACE=failed"))
        }

        @Test func `a signal to reload is for a process that serves, of which its manager hears first`() throws {
            let old = try played("old", "holds")
            #expect(old.waitForOutput(.patience) { output, _ in output.contains("listening") })
            let manager = try NotifySocket(directory.path + "/notify")
            let new = try successor(wrapper: ["env", "NOTIFY_SOCKET=\(directory.path)/notify"])
            #expect(old.waitForOutput(.patience) { output, _ in output.contains("prepared") })
            new.signal(SIGHUP)
            old.signal(SIGKILL)
            #expect(manager.receive() == "READY=1")
            #expect(manager.receive().hasPrefix("RELOADING=1"))
            #expect(manager.receive() == "READY=1")
        }

        @Test(arguments: [1, 3])
        func `with another number of threads every client is answered`(threads: Int) throws {
            let first = try daemon([])
            let second = try daemon(threads: threads)
            #expect(try first.finish().status == 0)
            for number in 0..<64 {
                #expect(try TestDNSClient(second.address).ask("host-\(number).example.com").rcode == 0)
            }
            #expect(try Daemon.run(["status", "--socket", socket]).output.contains("process \(second.pid)"))
        }
    }
}
