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
                    .replacing("path = \"\"", with: "path = \"\(file)\"") + "queries = true\n")
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
            try expect("cache", "show", "\u{1b}[31m\u{202e}.example.com", "--socket", socket, shows: "not text")
            try expect("why", Self.hostileName, "--socket", socket, shows: "decision=")
            try expect("query", Self.hostileName, "--config", daemon.configurationFile, shows: "z.example.com")
            try expect("status", "--socket", socket, shows: Self.provider)
            try expect("status", "--json", "--socket", socket, shows: Self.provider)
            try expect("doctor", "--offline", "--config", daemon.configurationFile, shows: Self.provider)
            #expect(vendor.callCount("evil.example.com") > 0)
            #expect(isHarmless(Array(daemon.errors.utf8)), "\(daemon.errors.debugDescription)")
        }

        /// Leaves a cache file, whose texts are those of an honest network but for some records of type TXT and PTR.
        private func fillFile() throws {
            let daemon = try daemon()
            for asked in ["\(Self.honestLabel).example.com", "untouched.example.com"] {
                for type in ["A", "TXT", "PTR"] { _ = try daemon.dig(asked, type) }
            }
            _ = try daemon.dig("whole.example.com", "PTR")
            try daemon.stop()
        }

        /// Replaces texts in all rows of a file, FILE TEXT OLD OLD ..., and adds TEXT as a certificate's names that were seen at
        /// an address. All checksums are right.
        private static let forger = """
            import sqlite3, sys, time
            text, texts = sys.argv[2].encode(), [old.encode() for old in sys.argv[3:]]
            def replaced(data):
                for old in texts: data = data.replace(old, text)
                return data
            def checksum(data):
                value = 0xcbf29ce484222325
                for byte in data: value = (value ^ byte) * 0x100000001b3 % 2**64
                return value
            def state(key, rest): return f"{checksum((key + chr(0) + rest).encode()):x} {rest}"
            answers = states = 0
            with sqlite3.connect(sys.argv[1]) as file:
                for id, question, value in file.execute("SELECT id, question, value FROM answer").fetchall():
                    value, sum = value[:-8], value[-8:]
                    assert sum == checksum(question + value).to_bytes(8, "big")
                    if replaced(question + value) == question + value: continue
                    question, value = replaced(question), replaced(value)
                    value += checksum(question + value).to_bytes(8, "big")
                    file.execute("UPDATE answer SET question = ?, value = ? WHERE id = ?", (question, value, id))
                    answers += 1
                for key, value in file.execute("SELECT key, value FROM state").fetchall():
                    rest = value.split(" ", 1)[1]
                    assert value == state(key, rest)
                    if replaced(rest.encode()) == rest.encode(): continue
                    value = state(key, replaced(rest.encode()).decode())
                    file.execute("UPDATE state SET value = ? WHERE key = ?", (value, key))
                    states += 1
                line, now = sys.argv[2].replace(chr(10), ""), int(time.time())
                key, lines = "journal whole.example.com 203.0.113.9", ["443", str(now), "1", line, line, line, "", line]
                value = state(key, f"{now} " + chr(10).join(lines))
                file.execute("INSERT INTO state (key, value) VALUES (?, ?)", (key, value))
            print(answers, states)
            """

        @Test func `a cache file whose rows were changed with right checksums reaches no terminal as it is`() throws {
            try fillFile()
            let changes = try ChildProcess.succeed(
                ["python3", "-c", Self.forger, file, Self.hostileText]
                    + [Self.honestLabel, Self.honestText, Self.provider])
            // Three rows of the name, one of the other's texts; the provider by itself, and behind a shared cache.
            #expect(changes == "4 2\n")
            let name = "\\027[31m\\010\\194\\155\\226\\128\\174x.example.com"
            func expect(of place: String...) throws {
                for words in [["list"], ["list", "--json"], ["export"], ["show", name], ["show", name, "--json"]] {
                    try self.expect(["cache"] + words + place, shows: "174x.example.com")
                }
                try self.expect(["cache", "show", "untouched.example.com"] + place, shows: "\\027[31m")
            }
            try expect(of: "--file", file)
            let second = try daemon()
            try expect(of: "--socket", socket)
            // It reads the file's records after it has begun to serve.
            _ = try eventually { try Daemon.run(["status", "--socket", socket]).output.contains("203.0.113.9") }
            for words in [["status"], ["status", "--json"], ["cache", "show", "whole.example.com"]] {
                try self.expect(words + ["--socket", socket], shows: "203.0.113.9")
            }
            try self.expect(["why", name, "--socket", socket], shows: "decision=")
            #expect(isHarmless(Array(second.errors.utf8)), "\(second.errors.debugDescription)")
        }
    }
}
