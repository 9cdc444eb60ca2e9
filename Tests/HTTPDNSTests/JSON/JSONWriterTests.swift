import HTTPDNS
import Testing

/// JSON text that is written.
struct JSONWriterTests {
    @Test func `members and elements of every kind stand one after another, between commas`() {
        let text = JSONWriter.object { writer in
            writer.member("text", "a")
            writer.member("no text", nil as String?)
            writer.member("number", 7)
            writer.member("no number", nil as Int?)
            writer.member("flag", true)
            writer.member("object", object: { $0.member("a", false) })
            writer.member(
                "list",
                array: { writer in
                    writer.object { $0.member("c", 3) }
                    writer.object { _ in }
                })
            writer.member("numbers", [1, -2])
            writer.member("strings", ["x", "y"])
            writer.member("seconds", thousandths: 1_500)
            writer.member("empty", [String]())
        }
        #expect(
            text
                == #"{"text":"a","no text":null,"number":7,"no number":null,"flag":true,"object":{"a":false},"#
                + #""list":[{"c":3},{}],"numbers":[1,-2],"strings":["x","y"],"seconds":1.500,"empty":[]}"#)
        #expect(JSONWriter.text(of: ["x", "y"]) == #"["x","y"]"#)
    }

    @Test(
        arguments: [
            (0, "0.000"), (7, "0.007"), (70, "0.070"), (999, "0.999"), (1_000, "1.000"), (12_345, "12.345"),
            (9_007_199_254_740_993, "9007199254740.993"),
        ] as [(Int64, String)])
    func `thousandths have three decimals`(value: Int64, text: String) {
        #expect(JSONWriter.object { $0.member("a", thousandths: value) } == "{\"a\":\(text)}")
    }

    @Test(arguments: [
        ("\"", #"\""#), ("\\", #"\\"#), ("a\nb", #"a\nb"#), ("\u{1}", #"\u0001"#), ("\u{1b}[31m", #"\u001b[31m"#),
        ("\u{7f}", #"\u007f"#), ("\u{9f}", #"\u009f"#), ("\u{ad}", #"\u00ad"#), ("\u{202e}", #"\u202e"#),
        ("\u{2028}\u{2029}", #"\u2028\u2029"#), ("\u{e0001}", #"\udb40\udc01"#), (" ~/é漢😀\u{a0}", " ~/é漢😀\u{a0}"),
    ])
    func `what JSON or a display would act on is escaped, and nothing else`(text: String, written: String) throws {
        let array = JSONWriter.text(of: [text])
        #expect(array == "[\"\(written)\"]")
        #expect(JSONWriter.object { $0.member(text, 1) } == "{\"\(written)\":1}")
        #expect(try JSONReader.read(Array(array.utf8)).elements().first?.text() == text)
    }
}

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
