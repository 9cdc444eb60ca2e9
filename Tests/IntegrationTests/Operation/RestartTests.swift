import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// No query is lost while one process follows another.
    struct RestartTests {
        /// How one process follows another.
        enum Way: CaseIterable {
            /// The service manager stores the sockets.
            case stored
            /// The new process takes them from the old one, which runs.
            case replaced
        }

        private let directory: TemporaryDirectory
        private let vendor: FakeHTTPDNS
        private let store: DescriptorStore
        private let port: UInt16

        init() throws {
            directory = try TemporaryDirectory()
            vendor = try FakeHTTPDNS(FakeZone(["*": .init(a: ["192.0.2.1"], ttl: 3_600)]))
            store = try DescriptorStore()
            port = try FreePort.next(on: ["127.0.0.1"])
        }

        private func daemon(
            _ way: Way, on host: String = "127.0.0.1", listen: String = "udp_threads = 2", port: UInt16? = nil,
            wrapper: [String] = []
        ) throws -> Daemon {
            let rest = DaemonConfiguration.rest(
                log: "info", disk: "\(directory.path)/state/cache.sqlite", control: directory.path + "/control.sock")
            return try Daemon(
                DaemonConfiguration.aliyun(vendor.url) + rest, on: [host], port: port ?? self.port, listen: listen,
                options: way == .replaced ? ["--replace"] : [], wrapper: wrapper, store: way == .stored ? store : nil)
        }

        /// Lets another process follow.
        ///
        /// - Parameters:
        ///   - listen: lines of the `[listen]` table.
        ///   - between: called while no process serves, if that is so.
        private func follow(
            _ old: Daemon, _ way: Way, listen: String = "udp_threads = 2", between: () throws -> Void = {}
        ) throws -> Daemon {
            if way == .stored {
                #expect(try old.stop() == 0)
                try between()
            }
            let new = try daemon(way, listen: listen)
            if way == .replaced { #expect(try old.finish().status == 0) }
            return new
        }

        /// `HTTPDNSD_RESTARTS`: how many there are of each way; `HTTPDNSD_RATE`: queries in a second.
        private static func number(_ variable: String, _ usual: Int) -> Int {
            ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? usual
        }

        @Test(arguments: Way.allCases)
        func `of a steady load over UDP and TCP, every query is answered over many restarts`(way: Way) throws {
            let (restarts, rate) = (Self.number("HTTPDNSD_RESTARTS", 5), Self.number("HTTPDNSD_RATE", 2_000))
            var daemon = try daemon(way)
            // The load is that of a server which runs, not of one that begins with nothing cached.
            let client = try daemon.client()
            for number in 0..<40 { #expect(try client.ask("host-\(number).example.com").rcode == 0) }
            // Most are cached, and some always wait for the vendor.
            let load = SteadyLoad(daemon.address, rate: rate) { number in
                number % 100 == 0 ? "new-\(number).example.com" : "host-\(number % 40).example.com"
            }
            for restart in 1...restarts {
                #expect(load.wait(restart * 40))
                daemon = try follow(daemon, way)
            }
            #expect(load.wait((restarts + 1) * 40))
            let counts = load.stop()
            for kind in SteadyLoad.Kind.allCases {
                let count = try #require(counts[kind])
                print("\(restarts) restarts, \(way), \(kind): \(count)")
                #expect(count.unanswered == 0 && count.failed == 0 && count.broken == 0, "\(kind): \(count)")
            }
            #expect(daemon.isRunning)
        }

        @Test(arguments: Way.allCases)
        func `a query whose provider hangs during the restart is asked again by the next process`(way: Way) throws {
            let first = try daemon(way)
            let (udp, tcp) = (try TestDNSClient(first.address), try TestTCPClient(first.address))
            vendor.misbehave(.hang)
            try udp.send(.query("slow.example.com", id: 1, edns: TestEDNS()))
            try tcp.send([.query("late.example.com", id: 2, edns: TestEDNS())])
            #expect(vendor.waitForCalls(2))
            vendor.misbehave(nil)
            let second = try follow(first, way)
            #expect(try udp.receive().message.addresses == ["192.0.2.1"])
            #expect(try tcp.receive()?.addresses == ["192.0.2.1"])
            #expect(second.isRunning)
        }

        @Test(arguments: Way.allCases)
        func `what was cached is answered after a restart without the provider, and status tells of the sockets`(
            way: Way
        ) throws {
            let first = try daemon(way)
            #expect(try first.client().ask("cached.example.com").addresses == ["192.0.2.1"])
            #expect(try !first.status().contains("sockets passed on"))
            let calls = vendor.callCount()
            let second = try follow(first, way)
            #expect(try second.client().ask("cached.example.com").addresses == ["192.0.2.1"])
            #expect(vendor.callCount() == calls)
            #expect(try second.status().contains("127.0.0.1:\(port) (sockets passed on)"))
            #expect(second.waitForLog { $0.contains("went on with the sockets of the process before") })
        }

        @Test(arguments: Way.allCases)
        func `encrypted listeners are passed on: no connection is refused, and live ones end in order`(
            way: Way
        ) throws {
            let listeners = try EncryptedListeners()
            let listen = "udp_threads = 2\n" + listeners.lines("tls", "https")
            func kdig(_ https: String? = nil) throws -> ChildProcess {
                try ChildProcess(listeners.kdig(["+noretry"], https: https, name: "cached.example.com"))
            }
            func isAnswered(_ client: ChildProcess) throws -> Bool {
                try client.finish(within: .patience).output.contains("192.0.2.1")
            }
            let first = try daemon(way, listen: listen)
            #expect(try isAnswered(kdig()) && isAnswered(kdig("+https")))
            let live = try ChildProcess([
                "python3", ClientProgram.source("live.py"), "\(listeners.tls)", listeners.certificates.authority,
            ])
            #expect(live.waitForOutput(.patience) { output, _ in output.contains("answered") })
            var waiting: [ChildProcess] = []
            let second = try follow(first, way, listen: listen) {
                // They connect to a socket that no process reads.
                waiting = [try kdig(), try kdig("+https")]
            }
            let outcome = try live.finish(within: .patience)
            #expect(outcome.output == "answered\nended\n", "\(outcome.errors)")
            for client in waiting { #expect(try isAnswered(client)) }
            #expect(try isAnswered(kdig()) && isAnswered(kdig("+https")))
            let status = try second.status()
            for port in [listeners.tls, listeners.https] { #expect(status.contains("127.0.0.1:\(port)")) }
            #expect(second.waitForLog { $0.contains("went on with the sockets of the process before") })
            #expect(!second.errors.contains("are closed"))
        }

        @Test(.requires(.otherUser))
        func `a process of the user itself replaces a server that root has started for it`() throws {
            _ = chmod(directory.path, 0o777)
            let listen = "user = \"nobody\"\nudp_threads = 2"
            let first = try daemon(.replaced, listen: listen)
            let second = try daemon(
                .replaced, listen: listen, wrapper: ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
            #expect(try first.finish().status == 0)
            #expect(try second.client().ask("www.example.com").addresses == ["192.0.2.1"])
        }

        @Test func `with no server to replace, one starts all the same`() throws {
            let daemon = try daemon(.replaced)
            #expect(daemon.waitForLog { $0.contains("no server was replaced") })
            #expect(try daemon.client().ask("www.example.com").addresses == ["192.0.2.1"])
        }

        @Test func `a running server is replaced by one on all addresses`() throws {
            let first = try daemon(.replaced)
            let second = try daemon(.replaced, on: "0.0.0.0")
            #expect(try first.finish().status == 0)
            #expect(try TestDNSClient(first.address).ask("www.example.com").addresses == ["192.0.2.1"])
            #expect(second.isRunning)
        }
    }
}
