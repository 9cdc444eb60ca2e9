import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// What others choose comes to a person's terminal as text that it shows, and never as something that it does.
    @Suite(.serialized)
    struct TerminalTests {
        /// Colours, a new line, a C1 control as one byte and as a character, and one that turns the text around.
        private static let hostile: [UInt8] = Array("\u{1b}[31m\n".utf8) + [0x9b] + Array("\u{9b}\u{202e}".utf8)
        /// The same as text alone, which a file may hold.
        private static let hostileText = "\u{1b}[31m\n\u{9b}\u{202e}x"
        private static let hostileName = "a\\027[31m\\010\\155\\194\\155\\226\\128\\174z.example.com"
        /// The same number of bytes each, which a file holds and then others.
        private static let (honestLabel, honestText, provider) = ("qqqqqqqqqqqq", "wwwwwwwwwwww", "vendorvendor")

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
                            RecordType.txt: [text(Self.hostile), text(Array(Self.honestText.utf8))],
                            RecordType.ptr: [text(Self.hostile) + [0]],
                        ])
                ]))
        }

        private var file: String { directory.path + "/cache.sqlite" }
        private var socket: String { directory.path + "/control.sock" }

        private func daemon() throws -> Daemon {
            try Daemon(
                DaemonConfiguration.aliyun(vendor.url, name: Self.provider)
                    + DaemonConfiguration.rest(localDNS: localDNS.address, control: socket)
                    .replacing("path = \"\"", with: "path = \"\(file)\""))
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
        private func expect(_ arguments: String..., shows text: String) throws {
            let bytes = try terminal(arguments)
            let output = String(decoding: bytes, as: UTF8.self)
            #expect(output.contains(text), "\(arguments): \(output)")
            #expect(isHarmless(bytes), "\(arguments): \(output.debugDescription)")
        }

        @Test func `what counts as harmless here is text alone`() {
            #expect(isHarmless(Array("a b\r\nä\n".utf8)))
            for bytes in [Self.hostile, [0x9b], Array("\u{9b}".utf8), Array("\u{202e}".utf8), [0x1b], [0x7f]] {
                #expect(!isHarmless(bytes))
            }
        }

        @Test func `a name that a client asks and texts of sources reach no terminal as they are`() throws {
            vendor.misbehave(
                .status(403, body: "{\"code\":\"\\u001b[31m\\n\\u009b\\u202eEVIL\"}"), for: "evil.example.com")
            let daemon = try daemon()
            let tail = try ChildProcess([
                "sh", "-c", "script -qec \"$1\" /dev/null", "sh",
                "'\(Daemon.executable)' tail --socket '\(socket)'",
            ])
            let end = ContinuousClock.now + .patience
            repeat {
                for type in ["A", "TXT", "PTR"] { _ = try daemon.dig(Self.hostileName, type) }
            } while !tail.waitForOutput(.milliseconds(150), { output, _ in output.contains("z.example.com") })
                && ContinuousClock.now < end
            #expect(tail.output.contains("a\\027[31m\\010\\155\\194\\155\\226\\128\\174z.example.com"))
            #expect(isHarmless(Array(tail.output.utf8)), "\(tail.output.debugDescription)")
            _ = try daemon.dig("evil.example.com")
            try expect("cache", "list", "--socket", socket, shows: Self.hostileName)
            try expect("cache", "list", "--json", "--socket", socket, shows: "z.example.com")
            try expect("cache", "show", Self.hostileName, "--socket", socket, shows: "\\027[31m")
            try expect("cache", "show", Self.hostileName, "--json", "--socket", socket, shows: "z.example.com")
            try expect("cache", "export", "--socket", socket, shows: "z.example.com")
            try expect("cache", "show", "\u{1b}[31m\u{202e}.example.com", "--socket", socket, shows: "not text")
            try expect("why", Self.hostileName, "--socket", socket, shows: "decision=")
            try expect("query", Self.hostileName, "--config", daemon.configurationFile, shows: "z.example.com")
            try expect("status", "--socket", socket, shows: Self.provider)
            try expect("status", "--json", "--socket", socket, shows: Self.provider)
            try expect("doctor", "--offline", "--config", daemon.configurationFile, shows: Self.provider)
            #expect(vendor.callCount("evil.example.com") > 0)
            #expect(isHarmless(Array(daemon.errors.utf8)), "\(daemon.errors.debugDescription)")
        }

        /// Whatever the file's format is, texts in it are there byte for byte. Rows that are changed are left out, as their
        /// checksums say; what is said of that is shown.
        @Test func `a cache file that was tampered with reaches no terminal as it is`() throws {
            let name = "\(Self.honestLabel).example.com"
            let first = try daemon()
            for asked in [name, "untouched.example.com"] {
                for type in ["A", "TXT", "PTR"] { _ = try first.dig(asked, type) }
            }
            _ = try first.dig("whole.example.com", "PTR")
            try first.stop()
            var changes = 0
            for path in [file, file + "-wal"] {
                guard var bytes = try? Data(contentsOf: URL(filePath: path)) else { continue }
                for text in [Self.honestLabel, Self.honestText, Self.provider] {
                    while let range = bytes.range(of: Data(text.utf8)) {
                        bytes.replaceSubrange(range, with: Data(Self.hostileText.utf8))
                        changes += 1
                    }
                }
                try bytes.write(to: URL(filePath: path))
            }
            // The label, the text of a record, the provider's name.
            #expect(changes >= 3)
            try expect("cache", "list", "--file", file, shows: "untouched.example.com")
            try expect("cache", "list", "--json", "--file", file, shows: "untouched.example.com")
            try expect("cache", "export", "--file", file, shows: "untouched.example.com")
            try expect("cache", "show", "whole.example.com", "--file", file, shows: "whole.example.com")
            try expect(
                "cache", "show", "\\027[31m\\010\\194\\155\\226\\128\\174x.example.com", "--file", file,
                shows: "example.com")
            try expect("cache", "show", "\u{1b}[31m\u{202e}.example.com", "--file", file, shows: "nothing is cached")
            let second = try daemon()
            _ = try second.dig("untouched.example.com")
            try expect("cache", "list", "--socket", socket, shows: "untouched.example.com")
            try expect("why", "untouched.example.com", "--socket", socket, shows: "decision=")
            try expect("status", "--socket", socket, shows: Self.provider)
            #expect(isHarmless(Array(second.errors.utf8)), "\(second.errors.debugDescription)")
        }
    }
}
