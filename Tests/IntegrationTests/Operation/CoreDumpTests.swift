import Foundation
import TestServers
import Testing

extension Integration {
    /// Secrets cannot reach a core dump.
    @Suite(.serialized)
    struct CoreDumpTests {
        @Test func `the server may write no core dump, whatever limit it was started with`() throws {
            let daemon = try Daemon(
                DaemonConfiguration.doh("https://192.0.2.1") + DaemonConfiguration.rest(),
                wrapper: ["sh", "-c", "ulimit -S -c \"$(ulimit -H -c)\" && exec \"$@\"", "sh"])
            let limits = try String(contentsOfFile: "/proc/\(daemon.pid)/limits", encoding: .utf8)
            let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size ") })
            #expect(line.split(separator: " ").suffix(3) == ["0", "0", "bytes"])
            #expect(try daemon.stop() == 0)
        }

        @Test func `the unit for systemd allows none`() throws {
            let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../..")
            let unit = try String(contentsOf: root.appendingPathComponent("conf/httpdnsd.service"), encoding: .utf8)
            #expect(unit.split(separator: "\n").contains("LimitCORE=0"))
        }
    }
}
