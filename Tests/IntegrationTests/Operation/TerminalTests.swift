import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// What others choose comes to a person's terminal as text that it shows, and never as something that it does.
    struct TerminalTests {
        /// Colours, a new line, a C1 control as one byte and as a character, and one that turns the text around.
        private static let hostile: [UInt8] = Array("\u{1b}[31m\n".utf8) + [0x9b] + Array("\u{9b}\u{202e}".utf8)
        private static let hostileName = "a\\027[31m\\010\\155\\194\\155\\226\\128\\174z.example.com"

        private let directory: TemporaryDirectory
        private let vendor: FakeHTTPDNS
        private let localDNS: FakeLocalDNS

        init() throws {
            directory = try TemporaryDirectory()
            vendor = try FakeHTTPDNS(FakeZone(["*.example.com": .init(a: ["192.0.2.1"])]))
            func text(_ bytes: [UInt8]) -> [UInt8] { [UInt8(bytes.count)] + bytes }
            localDNS = try FakeLocalDNS(
                FakeZone([
                    "*": .init(
                        a: ["198.51.100.7"],
                        others: [
                            RecordType.txt: [text(Self.hostile)],
                            RecordType.ptr: [text(Self.hostile) + [0]],
                        ])
                ]))
        }

        private var file: String { directory.path + "/cache.sqlite" }
        private var socket: String { directory.path + "/control.sock" }

        private func daemon() throws -> Daemon {
            try Daemon(
                DaemonConfiguration.aliyun(vendor.url)
                    + DaemonConfiguration.rest(localDNS: localDNS.address, disk: file, control: socket)
                    + "queries = true\n")
        }

        /// What a terminal gets when a command runs in it.
        private func terminal(_ arguments: [String]) throws -> [UInt8] {
            let command = ([Daemon.executable] + arguments).map { "'\($0)'" }.joined(separator: " ")
            let outcome = try ChildProcess.run([
                "sh", "-c", "timeout 60 script -qec \"$1\" /dev/null | od -An -v -tx1", "sh", command,
            ])
            return outcome.output.split(whereSeparator: \.isWhitespace).compactMap { UInt8($0, radix: 16) }
        }

        /// Whether a terminal does nothing at these bytes but to write and to begin a line.
        private func isHarmless(_ bytes: [UInt8]) -> Bool {
            guard let text = String(validating: bytes, as: UTF8.self) else { return false }
            return text.unicodeScalars.allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control: scalar == "\n" || scalar == "\r"
                case .format, .lineSeparator, .paragraphSeparator: false
                default: true
                }
            }
        }

        /// - Parameter shows: what must be there, so that it is known to be the command's output.
        private func expect(_ arguments: String..., shows text: String) throws { try expect(arguments, shows: text) }

        private func expect(_ arguments: [String], shows text: String) throws {
            let bytes = try terminal(arguments)
            let output = String(decoding: bytes, as: UTF8.self)
            #expect(output.contains(text), "\(arguments): \(output)")
            #expect(isHarmless(bytes), "\(arguments): \(output.debugDescription)")
        }

        @Test func `a name that a client asks and texts of sources reach no terminal as they are`() throws {
            vendor.misbehave(
                .status(403, body: "{\"code\":\"\\u001b[31m\\n\\u009b\\u202eEVIL\"}"), for: "evil.example.com")
            let daemon = try daemon()
            let tail = try ChildProcess([
                "sh", "-c", "script -qec \"$1\" /dev/null", "sh",
                "'\(Daemon.executable)' tail --socket '\(socket)'",
            ])
            _ = try eventually {
                for type in ["A", "TXT", "PTR"] { _ = try daemon.dig(Self.hostileName, type) }
                return tail.waitForOutput(.milliseconds(150)) { output, _ in output.contains("z.example.com") }
            }
            #expect(tail.output.contains("a\\027[31m\\010\\155\\194\\155\\226\\128\\174z.example.com"))
            #expect(isHarmless(Array(tail.output.utf8)), "\(tail.output.debugDescription)")
            _ = try daemon.dig("evil.example.com")
            try expect("cache", "list", "--socket", socket, shows: Self.hostileName)
            try expect("cache", "list", "--json", "--socket", socket, shows: "z.example.com")
            try expect("cache", "show", Self.hostileName, "--socket", socket, shows: "\\027[31m")
            try expect("cache", "show", Self.hostileName, "--json", "--socket", socket, shows: "z.example.com")
            try expect("cache", "export", "--socket", socket, shows: "z.example.com")
            try expect("cache", "show", "\u{1b}[31m\u{202e}.example.com", "--socket", socket, shows: "not a name")
            try expect("why", Self.hostileName, "--socket", socket, shows: "decision=")
            try expect("query", Self.hostileName, "--config", daemon.configurationFile, shows: "z.example.com")
            try expect("status", "--socket", socket, shows: "vendor")
            try expect("status", "--json", "--socket", socket, shows: "vendor")
            try expect("doctor", "--offline", "--config", daemon.configurationFile, shows: "vendor")
            #expect(vendor.callCount("evil.example.com") > 0)
            #expect(isHarmless(Array(daemon.errors.utf8)), "\(daemon.errors.debugDescription)")
        }
    }
}
