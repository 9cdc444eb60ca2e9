import Foundation
import Glibc
import TestSupport
import Testing

extension Integration {
    /// What is left of the cache when the daemon is gone.
    @Suite struct DiskTests {
        private let directory: TemporaryDirectory
        private let localDNS: FakeLocalDNS
        private var path: String { directory.path + "/state/cache.sqlite" }
        private var socket: String { directory.path + "/control.sock" }

        init() throws {
            (directory, localDNS) = (try TemporaryDirectory(), try FakeLocalDNS(FakeZone()))
        }

        private func daemon(
            _ vendor: String, path: String? = nil, extra: String = "", wrapper: [String] = []
        ) throws -> Daemon {
            let rest = DaemonConfiguration.rest(localDNS: localDNS.address, control: socket).replacingOccurrences(
                of: "path = \"\"", with: "path = \"\(path ?? self.path)\"\nflush_interval = \"100ms\"")
            return try Daemon(
                DaemonConfiguration.aliyun(vendor, "timeout = \"300ms\"") + rest + extra, wrapper: wrapper)
        }

        private func written(_ daemon: Daemon, _ count: Int) throws -> Bool {
            let end = ContinuousClock.now + .seconds(5)
            while ContinuousClock.now < end {
                let outcome = try Daemon.run(["status", "--socket", socket, "--json"])
                let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
                let cache = object?["cache"] as? [String: Any]
                if cache?["written"] as? Int ?? 0 >= count { return true }
            }
            return false
        }

        @Test func `of another service, what the former one told is not used`() throws {
            let vendor = try FakeHTTPDNS(Stage.zone)
            let first = try daemon(vendor.url)
            #expect(try first.client().ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(try first.stop() == 0)
            let second = try daemon("http://127.0.0.1:9")
            #expect(try second.client().ask("www.example.com").addresses == [])
        }

        @Test func `the same service that cannot be reached is served from the file`() throws {
            let vendor = try FakeHTTPDNS(Stage.zone)
            let first = try daemon(vendor.url)
            #expect(try first.client().ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(try first.stop() == 0)
            let asked = vendor.requests.count
            let second = try daemon(vendor.url)
            #expect(try second.client().ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(vendor.requests.count == asked)
        }

        @Test func `killed at any moment, the file opens, no answer is wrong, and what was flushed is there`() throws {
            let names = (0..<2_000).map { "host-\($0).example.com" }
            let zone = FakeZone(
                Dictionary(
                    uniqueKeysWithValues: names.enumerated().map { index, name in
                        (name, .init(a: ["198.51.\(index / 250).\(index % 250 + 1)"], ttl: 3_600))
                    }))
            let vendor = try FakeHTTPDNS(zone)
            let kills = ProcessInfo.processInfo.environment["HTTPDNSD_KILLS"].flatMap { Int($0) } ?? 10
            var numbers = SeededNumbers(11)
            var position = 0
            for kill in 0..<kills {
                let daemon = try daemon(vendor.url)
                let client = try daemon.client()
                let end = ContinuousClock.now + .milliseconds(Int.random(in: 20...400, using: &numbers))
                while ContinuousClock.now < end {
                    let index = position % names.count
                    position += 1
                    let reply = try client.ask(names[index])
                    #expect(reply.addresses == ["198.51.\(index / 250).\(index % 250 + 1)"], "kill \(kill)")
                }
                daemon.signal(SIGKILL)
                _ = try daemon.finish()
                #expect(!daemon.errors.contains("damaged"), "kill \(kill): \(daemon.errors)")
            }
            // What was stored longer than a flush interval before the end needs no vendor any more.
            let daemon = try daemon(vendor.url)
            #expect(try written(daemon, 0))
            let outcome = try ChildProcess.run(["sqlite3", path, "PRAGMA integrity_check"])
            #expect(outcome.output == "ok\n")
        }

        @Test func `two daemons on one file: the second one says so and works in memory`() throws {
            let vendor = try FakeHTTPDNS(Stage.zone)
            let first = try daemon(vendor.url)
            let second = try daemon(vendor.url)
            #expect(second.waitForLog { $0.contains("another process uses \(path)") })
            #expect(try second.client().ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(try first.client().ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
        }

        @Test func `a folder that cannot be made is one line in the log`() throws {
            let vendor = try FakeHTTPDNS(Stage.zone)
            let daemon = try daemon(vendor.url, path: "/proc/none/cache.sqlite")
            #expect(daemon.waitForLog { $0.contains("answers are kept in memory alone") })
            #expect(try daemon.client().ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(daemon.errors.components(separatedBy: "kept in memory alone").count == 2)
        }

        @Test(.requires(.networkNamespaces))
        func `on a disk that is full all goes on in memory, and is written once there is room`() throws {
            let vendor = try FakeHTTPDNS(Stage.zone)
            let mount = directory.path + "/small"
            try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: true)
            let script =
                "mount -t tmpfs -o size=256k tmpfs '\(mount)' && head -c 262144 /dev/zero >'\(mount)/filler'; exec \"$@\""
            let daemon = try daemon(
                vendor.url, path: mount + "/cache.sqlite",
                wrapper: ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh"])
            #expect(daemon.waitForLog { $0.contains("answers are kept in memory alone") })
            #expect(try daemon.client().ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(unlink("/proc/\(daemon.pid)/root\(mount)/filler") == 0)
            #expect(daemon.waitForLog(.seconds(15)) { $0.contains("the cache on disk is used again") })
            #expect(try written(daemon, 1))
        }

        @Test func `what was flushed, and a reported address, are remembered over a restart`() throws {
            let vendor = try FakeHTTPDNS(Stage.zone)
            let first = try daemon(vendor.url)
            #expect(try first.client().ask("www.example.com").addresses.count == 2)
            #expect(try written(first, 1))
            #expect(try Daemon.run(["cache", "flush", "--all", "--socket", socket]).status == 0)
            #expect(try Daemon.run(["badip", "add", "192.0.2.1", "--socket", socket]).status == 0)
            #expect(try first.stop() == 0)
            let asked = vendor.requests.count
            let second = try daemon(vendor.url)
            #expect(try second.client().ask("www.example.com").addresses == ["192.0.2.2", "192.0.2.1"])
            #expect(vendor.requests.count == asked + 1)
        }

        @Test func `the file is read without a server, and of a running one its memory`() throws {
            let vendor = try FakeHTTPDNS(Stage.zone)
            let daemon = try daemon(vendor.url)
            #expect(try daemon.client().ask("www.example.com").addresses.count == 2)
            let running = try Daemon.run(["cache", "export", "--socket", socket])
            #expect(
                running.output.contains(#""name":"www.example.com","type":"A""#)
                    && running.output.contains(#""data":"192.0.2.2""#))
            #expect(try daemon.stop() == 0)
            let list = try Daemon.run(["cache", "list", "--file", path])
            #expect(
                list.status == 0 && list.output.contains("www.example.com")
                    && list.output.contains("192.0.2.1 192.0.2.2"))
            let show = try Daemon.run(["cache", "show", "www.example.com", "--file", path])
            #expect(show.status == 0 && show.output.contains("192.0.2.1"))
            let export = try Daemon.run(["cache", "export", "--file", path])
            #expect(export.output.split(separator: "\n").count == 2)
            let none = try Daemon.run(["cache", "list", "--file", directory.path + "/none"])
            #expect(none.status == 1)
        }
    }
}
