@testable import Configuration
import TestSupport
import Testing

@Suite struct KeyLinesTests {
    private func line(of path: [SettingPath.Part], in text: String) -> Int? {
        let lines = KeyLines(Array(text.utf8))
        #expect(lines.problem == nil)
        return lines.ownLine(of: SettingPath(parts: path))
    }

    @Test func `tables, keys and comments`() {
        let text = "# a\na = 1 # b\n\n[b] # c\n  c = 2\r\n\td=3"
        #expect(line(of: [.key("a")], in: text) == 2)
        #expect(line(of: [.key("b")], in: text) == 4)
        #expect(line(of: [.key("b"), .key("c")], in: text) == 5)
        #expect(line(of: [.key("b"), .key("d")], in: text) == 6)
    }

    @Test func `entries of arrays of tables count from one`() {
        let text = "[[p]]\na=1\n[[p]]\na=2\n[p.q]\nb=3\n[[p.r]]\nc=4\n[[p]]\n[[p.r]]\nc=5"
        #expect(line(of: [.key("p"), .entry(1), .key("a")], in: text) == 2)
        #expect(line(of: [.key("p"), .entry(2), .key("a")], in: text) == 4)
        #expect(line(of: [.key("p"), .entry(2), .key("q"), .key("b")], in: text) == 6)
        #expect(line(of: [.key("p"), .entry(2), .key("r"), .entry(1), .key("c")], in: text) == 8)
        #expect(line(of: [.key("p"), .entry(3), .key("r"), .entry(1), .key("c")], in: text) == 11)
    }

    @Test func `dotted and quoted keys`() {
        let text = "[ a . \"b.c\" ]\n'd' . \"\\u0065\" = 1\n\"\" = 2"
        #expect(line(of: [.key("a"), .key("b.c")], in: text) == 1)
        #expect(line(of: [.key("a"), .key("b.c"), .key("d"), .key("e")], in: text) == 2)
        #expect(line(of: [.key("a"), .key("b.c"), .key("")], in: text) == 3)
    }

    @Test func `strings of several lines`() {
        let text = "a = \"\"\"\nx = 1\n\\\"\"\" \\\n  \n\"\"\"\"\"\nb = '''\n[c]'''\nd = \"#[\\\"\"\ne = '\\'\nf = 1"
        #expect(line(of: [.key("x")], in: text) == nil)
        #expect(line(of: [.key("b")], in: text) == 6)
        #expect(line(of: [.key("c")], in: text) == nil)
        #expect(line(of: [.key("d")], in: text) == 8)
        #expect(line(of: [.key("e")], in: text) == 9)
        #expect(line(of: [.key("f")], in: text) == 10)
    }

    @Test func `arrays and inline tables`() {
        let text = "a = [ # [\n 1,\n [2, 3],\n { b = 4, c.d = [\n5 ] }, ]\ne = {}\nf = []"
        #expect(line(of: [.key("a"), .entry(1)], in: text) == 2)
        #expect(line(of: [.key("a"), .entry(2), .entry(2)], in: text) == 3)
        #expect(line(of: [.key("a"), .entry(3), .key("b")], in: text) == 4)
        #expect(line(of: [.key("a"), .entry(3), .key("c"), .key("d"), .entry(1)], in: text) == 5)
        #expect(line(of: [.key("e")], in: text) == 6)
        #expect(line(of: [.key("f")], in: text) == 7)
    }

    @Test(arguments: [
        (#""""#, ""), (#""a\tb\"\u00e9\U0001f600\\""#, "a\tb\"é😀\\"), (#"'a\tb"'"#, "a\\tb\""),
        ("\"\"\"\n\na\r\n b\"\"\"", "\na\n b"), ("\"\"\"a\\\n  \n  b\"\"\"", "ab"), ("\"\"\"a\"\"\"\"\"", "a\"\""),
        ("'''\n'a\\\n'''''", "'a\\\n''"), ("\"\"\"\r\na\"\"\"", "a"), ("''''''", ""), ("'''\n'''", ""),
    ])
    func `strings are what TOML says they stand for`(written: String, text: String) throws {
        let bytes = Array("a = \(written)\n[[b]]\nc = [1, \(written), {d = \(written)}]".utf8)
        let lines = KeyLines(bytes)
        #expect(lines.problem == nil)
        #expect(lines.string(at: SettingPath(parts: [.key("a")])) == text)
        let list: [SettingPath.Part] = [.key("b"), .entry(1), .key("c")]
        #expect(lines.string(at: SettingPath(parts: list + [.entry(1)])) == nil)
        #expect(lines.string(at: SettingPath(parts: list + [.entry(2)])) == text)
        #expect(lines.string(at: SettingPath(parts: list + [.entry(3), .key("d")])) == text)
        #expect(try TOMLNode.document(bytes, lines: lines)["a"] == .string(text))
    }

    @Test func `a path without a line has that of the table around it`() {
        let lines = KeyLines(Array("\n[[p]]\n".utf8))
        #expect(lines.line(of: SettingPath(parts: [.key("p"), .entry(1), .key("type")])) == 2)
        #expect(lines.line(of: SettingPath(parts: [.key("q")])) == nil)
    }

    @Test(arguments: [
        "true", "false", "0", "+1", "-17", "1_000", "0xdead_BEEF", "0o755", "0b1101", "1.5", "-0.1e-7", "5e+22",
        "1_0.0_1",
        "inf", "-nan", "1979-05-27", "07:32:00", "07:32:00.999", "1979-05-27T07:32:00Z", "1979-05-27 07:32:00.5-07:00",
        "1979-05-27t07:32:00",
    ])
    func `every form of number, date and time is read`(text: String) {
        #expect(line(of: [.key("b")], in: "a = \(text) \r\nb = [\(text),\(text)]") == 2)
    }

    @Test(arguments: [
        "True", "yes", "01", "+", "1_", "_1", "1__0", "0x", "+0x1", "0xg", "1.", ".5", "1e", "1.e5", "1979-05",
        "7:32:00",
        "07:32", "07:32:00.", "1979-05-27X", "1979-05-27T", "1979-05-27T07:32:00+7", "07:32:00Z", "1 2", "٣",
    ])
    func `anything else without quotes is refused`(text: String) {
        #expect(KeyLines(Array("a = \(text)".utf8)).problem != nil)
    }

    @Test func `a byte order mark is skipped`() {
        #expect(line(of: [.key("a")], in: "\u{feff}a = 1") == 1)
    }
}

@Suite struct RobustnessTests {
    private func message(_ bytes: [UInt8]) -> String {
        do {
            _ = try Configuration.parse(bytes: bytes, file: "t.toml", environment: [:])
            return "accepted"
        } catch {
            return error.description
        }
    }

    @Test func `bytes that are not UTF-8 are refused with their line`() {
        #expect(message(Array("a = 1\nb = \"".utf8) + [0xff, 0x22]).hasPrefix("t.toml:2: the text is not UTF-8"))
    }

    @Test func `a NUL byte is refused with its line`() {
        #expect(message(Array("a = 1\n\u{0}".utf8)).hasPrefix("t.toml:2: the text is not UTF-8, or holds a NUL"))
    }

    @Test(arguments: ["\"\\u0000\" = 1", "a = [\"x\\U00000000\"]", "a = { \"x\\u0000y\" = \"\" }"])
    func `a NUL written as an escape is refused`(text: String) {
        #expect(message(Array(text.utf8)).contains("strings cannot hold the NUL character"))
    }

    @Test func `a file over 1 MiB is refused`() {
        #expect(message(Array(repeating: UInt8(ascii: "\n"), count: (1 << 20) + 1)) == "t.toml: is larger than 1MiB")
    }

    @Test func `an endless file is refused`() {
        #expect(throws: ConfigurationError.self) { try Configuration.load(path: "/dev/zero", environment: [:]) }
    }

    @Test func `a file that does not exist or is a directory is an error`() {
        for (path, reason) in [("/nonexistent", "No such file or directory"), ("/", "Is a directory")] {
            let error = #expect(throws: ConfigurationError.self) {
                try Configuration.load(path: path, environment: [:])
            }
            #expect(error?.description == "\(path): cannot be read: \(reason)")
        }
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
    @Test func `damaged files are read or refused, and what is read has its lines`() {
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
            let lines = KeyLines(text)
            if let document = try? TOMLNode.document(text, lines: lines) {
                checkLines(of: document, .root, lines)
            }
        }
    }

    private func checkLines(of node: TOMLNode, _ path: SettingPath, _ lines: KeyLines) {
        if path != .root { #expect(lines.ownLine(of: path) != nil, "\(path)") }
        switch node {
        case .table(let pairs):
            for pair in pairs { checkLines(of: pair.value, path.appending(key: pair.key), lines) }
        case .array(let nodes):
            for (index, entry) in nodes.enumerated() {
                checkLines(of: entry, path.appending(entry: index + 1), lines)
            }
        default: break
        }
    }
}
