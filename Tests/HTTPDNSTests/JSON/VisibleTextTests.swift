import HTTPDNS
import Testing

/// What commands and the log print for people.
struct VisibleTextTests {
    /// Sets a title, clears the screen, turns the direction round, ends a line, and deletes.
    private static let hostile = "a\u{1b}]0;x\u{7}\u{1b}[2J\u{202e}\u{9b}\u{2028}\u{7f}\r\nb"
    private static let shown = #"a\x1b]0;x\x07\x1b[2J\u{202e}\x9b\u{2028}\x7f\x0d"#

    @Test func `a text is one line that a display does not act on`() {
        #expect(VisibleText(Self.hostile).description == Self.shown + "\\x0ab")
    }

    @Test func `of several lines the ends stay`() {
        #expect(VisibleText(lines: Self.hostile).description == Self.shown + "\nb")
    }

    @Test func `what is put into a text is one line of it, and the text around stays as it is written`() {
        #expect("one\ntwo: \(Self.hostile)\n" as VisibleText == "one\ntwo: \(Self.shown)\\x0ab\n")
        #expect("\(VisibleText(lines: "x\ny"))" as VisibleText == "x\ny")
    }

    @Test(arguments: ["", "plain", "例え.jp  “é”", "tab is none", "\\x1b"])
    func `a text without such characters stays as it is`(text: String) {
        #expect(VisibleText(text).description == text && VisibleText(lines: text).description == text)
    }
}

private func == (text: VisibleText, other: String) -> Bool { text.description == other }
