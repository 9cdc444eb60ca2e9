import HTTPDNS
import Logging
import Testing

@testable import Platform

struct LogFormatterTests {
    private static let time = UTCTime(milliseconds: 951_827_696_789)
    /// Characters that would clear a terminal, forge a line, colour the rest, change its direction, or end a JavaScript
    /// string.
    private static let hostile = "a\u{1b}[2J\r\nb\u{9b}31m\u{202e}c\u{2028}\u{0}\"\\\u{e0041}\u{7f}ü"

    private func line(
        _ style: LogStyle, _ message: String, _ fields: Logger.Metadata = [:], level: Logger.Level = .warning,
        isJournal: Bool = false
    ) -> String {
        let formatter = LogFormatter(style, isJournal: isJournal)
        return String(decoding: formatter.line(level, message, fields, at: Self.time), as: UTF8.self)
    }

    @Test func `a line of text has a UTC time, the level and the message`() {
        #expect(line(.text, "all is well") == "2000-02-29T12:34:56.789Z warning: all is well\n")
    }

    @Test func `for the journal a line has a priority and no time`() {
        let priorities = Logger.Level.allCases.map { line(.text, "x", level: $0, isJournal: true) }
        #expect(priorities == ["<7>x\n", "<7>x\n", "<6>x\n", "<5>x\n", "<4>x\n", "<3>x\n", "<2>x\n"])
        #expect(line(.json, "x", level: .error, isJournal: true).hasPrefix("<3>{\"time\":\"2000-"))
    }

    @Test func `a JSON line has its members in a fixed order, and numbers as numbers`() {
        let fields: Logger.Metadata = [
            LogKind.field: "query", "name": "a", "count": .stringConvertible(3),
            "ms": .stringConvertible(Milliseconds(.microseconds(12_045))),
        ]
        #expect(
            line(.json, "m", fields)
                == #"{"time":"2000-02-29T12:34:56.789Z","level":"warning","event":"query","message":"m","#
                + #""count":3,"ms":12.045,"name":"a"}"# + "\n")
    }

    @Test(arguments: [LogStyle.text, .json])
    func `nothing that a display obeys gets into a line`(style: LogStyle) {
        let line = line(style, Self.hostile, ["name": "\(Self.hostile)"])
        #expect(line.hasSuffix("\n") && line.hasPrefix(style == .json ? "{" : "2000"))
        #expect(!line.dropLast().unicodeScalars.contains { $0.isDisplayControl })
        #expect(line.contains("ü"))
    }

    @Test func `JSON gives hostile text back as it was`() throws {
        let line = line(.json, Self.hostile)
        let message = try JSONReader.read(Array(line.utf8)).members().first { $0.key == "message" }
        #expect(try message?.value.text() == Self.hostile)
    }

    @Test func `text spells hostile characters out`() {
        #expect(line(.text, "\u{1b}\u{7}\u{202e}").hasSuffix(": \\x1b\\x07\\u{202e}\n"))
    }

    /// Characters that JSON escapes with none and one more.
    @Test(arguments: [("x", 2_045), ("\"", 1_022), ("\\", 1_022)])
    func `text is cut when it is longer than 2,048 bytes in JSON, with the ellipsis`(character: String, most: Int) {
        let longest = String(repeating: character, count: most)
        #expect(LogFormatter.cut(longest) == longest)
        #expect(LogFormatter.cut(longest + character) == longest + "…")
    }

    @Test func `text of characters that JSON escapes with five more is cut at a sixth as many`() {
        #expect(
            LogFormatter.cut(String(repeating: "\u{1}", count: 342)) == String(repeating: "\u{1}", count: 340) + "…")
    }

    @Test(arguments: [LogStyle.text, .json], ["x", "\u{1}", "\"", "\u{e0041}", "ü", "\u{10ffff}"])
    func `a line is bounded whatever is in it`(style: LogStyle, character: String) {
        let line = line(style, String(repeating: character, count: 100_000))
        #expect(line.utf8.count < LogFormatter.limit + 100)
        #expect(line.utf8.count > LogFormatter.limit / 3 && line.contains("…"))
    }
}

struct UTCTimeTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (4_107_542_399_999, "2100-02-28T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        (1_767_225_599_001, "2025-12-31T23:59:59.001Z"),
    ])
    func `times are ISO 8601`(milliseconds: Int64, text: String) {
        #expect(UTCTime(milliseconds: milliseconds).description == text)
    }
}
