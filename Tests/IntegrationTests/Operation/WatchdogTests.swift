import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// Signs of life for a service manager that watches.
    struct WatchdogTests {
        /// A daemon with two UDP threads, and a manager that wants a sign of life every 400 ms.
        private struct Watched {
            let manager: NotifySocket
            let calls: HungCalls
            let daemon: Daemon
            private let directory: TemporaryDirectory

            init(_ environment: [String: String] = ["WATCHDOG_USEC": "400000"]) throws {
                directory = try TemporaryDirectory()
                manager = try NotifySocket(directory.path + "/notify")
                calls = try HungCalls()
                daemon = try Daemon(
                    DaemonConfiguration.aliyun("http://127.0.0.1:9") + DaemonConfiguration.rest(),
                    listen: "udp_threads = 2",
                    environment: environment.merging(["NOTIFY_SOCKET": directory.path + "/notify"]) { $1 }
                        .merging(calls.environment) { $1 })
                #expect(manager.receive() == "READY=1")
            }

            /// Whether no sign of life comes for a second; those on their way are passed over.
            func isSilent() -> Bool {
                for _ in 0..<8 where manager.receive(within: .seconds(1)).isEmpty { return true }
                return false
            }
        }

        @Test func `a server whose threads never rest gives signs of life`() throws {
            let watched = try Watched()
            let clients = try (0..<8).map { _ in try watched.daemon.client() }
            var signs = 0
            let end = ContinuousClock.now + .patience
            while signs < 8, ContinuousClock.now < end {
                for client in clients { try client.send(.query("version.bind", RecordType.txt, class: 3)) }
                for client in clients { _ = try client.receive() }
                if watched.manager.receive(within: .zero) == "WATCHDOG=1" { signs += 1 }
            }
            #expect(signs == 8)
        }

        @Test(arguments: HungCalls.Call.allCases)
        func `while the loop or a UDP thread hangs there is no sign of life`(call: HungCalls.Call) throws {
            let watched = try Watched()
            #expect(watched.manager.receive() == "WATCHDOG=1")
            try watched.calls.hang(call)
            #expect(watched.isSilent())
            try watched.calls.release(call)
            #expect(watched.manager.receive() == "WATCHDOG=1")
        }
    }
}
