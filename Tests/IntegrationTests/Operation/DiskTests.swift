import Foundation
import Glibc
import TestServers
import TestSupport
import Testing

extension Integration {
    /// What remains of the cache after the daemon has ended.
    struct DiskTests {
        private let directory: TemporaryDirectory
        private let localDNS: FakeLocalDNS
        private var path: String { directory.path + "/state/cache.sqlite" }
        private var socket: String { directory.path + "/control.sock" }

        init() throws {
            (directory, localDNS) = (try TemporaryDirectory(), try FakeLocalDNS(FakeZone()))
        }

        private func daemon(
            _ vendor: String, path: String? = nil, provider: String = "",
            ports: [UInt16]? = nil, interval: String = "100ms", wrapper: [String] = []
        ) throws -> Daemon {
            let rest = DaemonConfiguration.rest(
                localDNS: localDNS.address, check: ports == nil ? "off" : "auto", ports: ports,
                disk: path ?? self.path, diskLines: "flush_interval = \"\(interval)\"", control: socket)
            return try Daemon(
                DaemonConfiguration.aliyun(vendor, "timeout = \"1900ms\"\n" + provider) + rest, wrapper: wrapper)
        }

        private func written(_ count: Int) throws -> Bool {
            try eventually { (try status()["cache"] as? [String: Any])?["written"] as? Int ?? 0 >= count }
        }

        private func status() throws -> [String: Any] {
            try Daemon.run(["status", "--socket", socket, "--json"]).json
        }

        /// A copy of the file with its log, since a server that uses the file allows no other connection.
        private func copied() throws -> String {
            let copy = directory.path + "/copy"
            let script =
                "rm -rf \"$2\" && mkdir \"$2\" && cp \"$1\" \"$2\"; [ ! -e \"$1-wal\" ] || cp \"$1-wal\" \"$2\""
            let outcome = try ChildProcess.run(["sh", "-c", script, "sh", path, copy])
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
            return copy + "/cache.sqlite"
        }

        /// The values of one column of the file, read by SQLite's own command.
        private func select(_ query: String) throws -> [String] {
            let outcome = try ChildProcess.run(["sqlite3", copied(), query])
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
            return outcome.output.split(separator: "\n").map(String.init)
        }

        /// The names in the file, one for each answer.
        private func storedNames() throws -> [String] {
            let export = try Daemon.run(["cache", "export", "--file", path])
            #expect(export.status == 0 && export.errors.isEmpty, "\(export.errors)")
            return export.output.split(separator: "\n").compactMap { line in
                try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            }.compactMap { $0["name"] as? String }
        }

        /// The names of records of a kind.
        private func records(_ kind: String) throws -> [String] {
            try select("SELECT substr(key, length('\(kind)') + 2) FROM state WHERE key LIKE '\(kind) %'")
        }

        @Test func `killed at any moment, the file opens, no answer is wrong, and what was flushed is there`() throws {
            let names = (0..<20_000).map { "host-\($0).example.com" }
            let addresses = names.indices.map { "198.\(18 + $0 / 62_500).\($0 / 250 % 250).\($0 % 250 + 1)" }
            let zone = FakeZone(
                Dictionary(
                    uniqueKeysWithValues: zip(names, addresses).map { ($0, .init(a: [$1], ttl: 86_400)) }))
            let vendor = try FakeHTTPDNS(zone)
            let kills =
                ProcessInfo.processInfo.environment["HTTPDNSD_KILLS"].flatMap { Int($0) }
                ?? (Integration.isThorough ? 10 : 4)
            var numbers = SeededNumbers(11)
            var position = 0
            var flushed: Set<String> = []
            // Whatever the machine does, only the vendor can answer.
            localDNS.behave(.silent)
            for kill in 0..<kills {
                let daemon = try daemon(vendor.url)
                let client = try daemon.client()
                let end = ContinuousClock.now + .milliseconds(Int.random(in: 20...900, using: &numbers))
                repeat {
                    // Mostly new names, and some that were answered before.
                    let index = Bool.random(using: &numbers) ? position : Int.random(in: 0...position, using: &numbers)
                    if index == position { position = (position + 1) % names.count }
                    #expect(try client.ask(names[index]).addresses == [addresses[index]], "kill \(kill)")
                } while ContinuousClock.now < end
                // Once so late that some are there, two answers in a row at most.
                if kill == 0 { #expect(try written(position)) }
                daemon.signal(SIGKILL)
                _ = try daemon.finish()
                #expect(!daemon.errors.contains("damaged"), "kill \(kill): \(daemon.errors)")
                let rows = try storedNames()
                #expect(kill > 0 || rows.count * 2 >= position)
                // Counted, so that a failure does not print them all.
                let gone = flushed.subtracting(rows)
                #expect(gone.count == 0, "kill \(kill): such as \(gone.prefix(3))")
                flushed.formUnion(rows)
                #expect(try select("PRAGMA quick_check") == ["ok"], "kill \(kill)")
            }
            #expect(!flushed.isEmpty)
            // They are answered without a vendor.
            vendor.misbehave(.status(500))
            let daemon = try daemon(vendor.url)
            let client = try daemon.client()
            for (name, address) in zip(names, addresses) where flushed.contains(name) {
                #expect(try client.ask(name).addresses == [address])
            }
        }

        @Test func `what a command has changed when it ends is there after a kill`() throws {
            let vendor = try FakeHTTPDNS(FakeZone(["*": .init(a: ["192.0.2.1"], ttl: 3_600)]))
            // Long enough that nothing is written because of it.
            func killed(after commands: [String]...) throws {
                let running = try daemon(vendor.url, interval: "1h")
                // While HTTPDNS is off these do not exist.
                for name in ["a", "b"] { _ = try running.client().ask("\(name).example.com") }
                for command in commands {
                    #expect(try Daemon.run(command + ["--socket", socket]).status == 0, "\(command)")
                }
                running.signal(SIGKILL)
                _ = try running.finish()
            }
            func states() throws -> [String] { try records("bad_address") + records("switched_off") }
            try killed(after: ["switch", "off"], ["badip", "add", "192.0.2.7"])
            #expect(try states() == ["192.0.2.7", "httpdns"])
            try killed(after: ["switch", "on"])
            #expect(try states() == ["192.0.2.7"])
            try killed(after: ["badip", "remove", "192.0.2.7"])
            #expect(try states() == [])
            func names() throws -> [String] {
                try Set(storedNames()).filter { $0.dropFirst().hasPrefix(".example.com") }.sorted()
            }
            try killed(after: ["badip", "add", "192.0.2.9"])
            #expect(try names().map { $0.first } == ["a", "b"])
            try killed(after: ["cache", "flush", "a.example.com"])
            #expect(try names().map { $0.first } == ["b"])
        }

        @Test(.requires(.networkNamespaces))
        func `a forgery that was detected is known after a restart, without another check`() throws {
            let servers = try CertificateServers(subject: "leaf")
            let vendor = try FakeHTTPDNS(FakeZone())
            vendor.misbehave(.status(500))
            localDNS.behave(.lie([CertificateServers.Kind.otherName.address]))
            let start = {
                try daemon(
                    vendor.url, ports: [servers.port],
                    wrapper: Daemon.trusting(servers.authority))
            }
            let first = try start()
            #expect(try first.client().ask(CertificateServers.name).addresses == [])
            #expect(try first.stop() == 0)
            #expect(try records("check_verdict").count == 1)
            let second = try start()
            func text() throws -> String { try Daemon.run(["status", "--socket", socket, "--json"]).output }
            #expect(try eventually { try text().contains("\"name\":\"\(CertificateServers.name)\"") })
            #expect(try second.client().ask(CertificateServers.name).addresses == [])
            let status = try text()
            #expect(status.contains("\"forged_checks\":0") && status.contains(CertificateServers.name), "\(status)")
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
            #expect(daemon.waitForLog { $0.contains("answers are cached in memory alone") })
            #expect(try daemon.client().ask("www.example.com").addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(unlink("/proc/\(daemon.pid)/root\(mount)/filler") == 0)
            #expect(daemon.waitForLog() { $0.contains("the cache on disk is used again") })
            #expect(try written(1))
        }

        @Test func `the file is read without a server, and of a running one its memory`() throws {
            let vendor = try FakeHTTPDNS(Stage.zone)
            let daemon = try daemon(vendor.url)
            #expect(try daemon.client().ask("www.example.com").addresses.count == 2)
            for arguments in [["list"], ["show", "www.example.com"]] {
                let outcome = try Daemon.run(["cache"] + arguments + ["--socket", socket])
                #expect(outcome.status == 0 && outcome.output.contains("192.0.2.1"), "\(outcome)")
            }
            #expect(try written(1))
            // Also while a server uses it.
            #expect(try Daemon.run(["cache", "list", "--file", path]).output.contains("192.0.2.1 192.0.2.2"))
            #expect(try Daemon.run(["cache", "flush", "--all", "--file", path]).status != 0)
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
