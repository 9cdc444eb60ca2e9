import Configuration
import Glibc
import TestSupport
import Testing

struct RobustnessTests {
    private func message(_ bytes: [UInt8]) -> String {
        do {
            _ = try Configuration.parse(bytes: bytes, file: "t.toml", environment: [:])
            return "accepted"
        } catch {
            return error.description
        }
    }

    @Test func `bytes that are not UTF-8 are refused with their line`() {
        #expect(message(Array("a = 1\nb = \"".utf8) + [0xff, 0x22]).hasPrefix("t.toml:2:6: the text is not UTF-8"))
    }

    @Test func `a NUL byte is refused with its line`() {
        #expect(message(Array("a = 1\n\u{0}".utf8)).hasPrefix("t.toml:2:1: "))
    }

    @Test func `a NUL written as an escape is refused`() {
        let lines =
            "ca_file = \"/x\\u0000y\"\nnames = [\"x\\U00000000\"]\n[preset]\nalways.\"x\\u0000\" = [\"192.0.2.1\"]"
        #expect(
            errors(minimal + lines) == [
                "t.toml:4: provider[1].ca_file: cannot hold the NUL character",
                "t.toml:5: provider[1].names[1]: cannot hold the NUL character",
                "t.toml:7: preset.always.\"x\\u{0}\": \"x\\u{0}\" is not a name: it holds the character U+0000, which cannot be seen",
            ])
    }

    @Test func `a file over 1 MiB is refused`() {
        #expect(message(Array(repeating: UInt8(ascii: "\n"), count: (1 << 20) + 1)) == "t.toml: is larger than 1MiB")
    }

    @Test func `an endless file is refused`() {
        #expect(throws: ConfigurationError.self) { try Configuration.load(path: "/dev/zero", Variables(process: [:])) }
    }

    @Test func `a file that does not exist or is a directory is an error`() {
        for (path, reason) in [("/nonexistent", "No such file or directory"), ("/", "Is a directory")] {
            let error = #expect(throws: ConfigurationError.self) {
                try Configuration.load(path: path, Variables(process: [:]))
            }
            #expect(error?.description == "\(path): cannot be read: \(reason)")
        }
    }

    @Test func `a pipe is refused at once, in the place of the file and of what it names`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/pipe"
        try #require(mkfifo(path, 0o600) == 0)
        let reason = "cannot be read: it is a pipe, and a file is needed"
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.load(path: path, Variables(process: [:]))
        }
        #expect(error?.description == "\(path): \(reason)")
        #expect(
            errors("[[provider]]\ntype = \"aliyun\"\naccount = \"1\"\nsecret_file = \"\(path)\"") == [
                "t.toml:4: provider[1].secret_file: the file \(reason)"
            ])
    }

    @Test(arguments: [
        String(repeating: "a.", count: 500_000) + "a = 1", "[" + String(repeating: "a.", count: 500_000) + "a]",
        "a = " + String(repeating: "[", count: 1_000_000), "a = " + String(repeating: "{a=", count: 300_000),
        "a = " + String(repeating: "[", count: 40) + String(repeating: "]", count: 40),
    ])
    func `deep nesting is refused`(text: String) {
        #expect(message(Array(text.utf8)).contains("nested too deep"))
    }

    @Test func `a file of errors only is reported in full`() {
        let text = (0..<2000).map { "a\($0) = 1\n" }.joined()
        #expect(errors(text).count == 2001)
    }

    /// Damages the file with every key in many ways. The seed is fixed: a failure can be repeated.
    @Test func `damaged files are read or refused`() {
        let source = Array(everyKey.utf8)
        let pieces = [
            "\"", "'", "\"\"\"", "'''", "[", "]", "[[", "]]", "{", "}", "=", ".", ",", "\n", "\\", "#", "\r", "\t", "é",
        ]
        var random = SeededNumbers(1)
        for _ in 0..<300 {
            var text = source
            for _ in 0...Int(random.next() % 4) {
                let at = Int(random.next() % UInt64(text.count))
                switch random.next() % 4 {
                case 0: text[at] = UInt8(truncatingIfNeeded: random.next())
                case 1: text.removeSubrange(at..<min(text.count, at + Int(random.next() % 40)))
                case 2: text.insert(contentsOf: pieces[Int(random.next() % UInt64(pieces.count))].utf8, at: at)
                default: text.insert(contentsOf: text[at..<min(text.count, at + Int(random.next() % 200))], at: at)
                }
                if text.isEmpty { text = source }
            }
            _ = message(text)
        }
    }
}
