import DNSWire
import HTTPDNS
import Testing

/// JSON text, well-formed and not.
struct JSONReaderTests {
    private func error(_ text: String) -> JSONError? { error(Array(text.utf8)) }

    /// The reason why `bytes` are not one JSON value; nil when they are one.
    private func error(_ bytes: [UInt8]) -> JSONError? {
        do {
            _ = try JSONReader.read(bytes)
            return nil
        } catch {
            return error
        }
    }

    private func value(_ text: String) throws(JSONError) -> JSONNode { try JSONReader.read(Array(text.utf8)) }

    @Test(arguments: [
        "{}", "[]", "null", "true", "false", "0", "-0", #""""#, " \t\r\n{ \"a\" : [ 1 , 2 ] , \"b\" : { } } \n",
        #"{"a":{"b":[{"c":null}]}}"#, "[[],{},\"\",0.5e-3,-1E+2]", "\"\u{7f}é漢😀\"",
    ])
    func `well-formed text is read`(text: String) {
        #expect(error(text) == nil)
    }

    @Test(arguments: [
        "", " ", "{", "[", "\"", "\"abc", "\"\\", "\"\\u", "\"\\u12", "\"\\ud83d", "\"\\ud83d\\", "{\"a\"", "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,", "[1", "[1,", "t", "tru", "nul", "-", "1.", "1e", "1e+",
    ])
    func `text that ends too early is refused`(text: String) {
        #expect(error(text)?.reason == .unexpectedEnd)
        #expect(error(text)?.offset == text.utf8.count)
    }

    @Test(arguments: [
        ("}", 0), ("]", 0), (",", 0), ("{1:2}", 1), ("{a:1}", 1), ("{\"a\" 1}", 5), ("{\"a\":1 \"b\":2}", 7),
        ("{\"a\":1,}", 7),
        ("{,}", 1), ("[1 2]", 3), ("[1,]", 3), ("[,1]", 1), ("[1}", 2), ("{\"a\":1]", 6), ("tRue", 1), ("falsy", 4),
        ("nil", 1), ("+1", 0), (".5", 0), ("1.e1", 2), ("1.x", 2), ("1e+x", 3), ("-x", 1), ("01", 0), ("-01", 0),
        ("00", 0),
        ("'a'", 0), ("\"a\nb\"", 2), ("\"a\u{0}\"", 2), ("NaN", 0), ("Infinity", 0), ("// x", 0), ("\u{feff}{}", 0),
        ("\"\\ud83dx\"", 7), ("\"\\ud83d\\n\"", 8),
    ])
    func `a byte that cannot stand there is refused`(text: String, offset: Int) {
        #expect(error(text) == JSONError(reason: .unexpectedByte, offset: offset))
    }

    @Test(arguments: ["{} {}", "1 2", "[]]", "{}x", "\"a\"\"b\"", "null,", "1e5x", "{}\u{0}"])
    func `bytes after the value are refused`(text: String) {
        #expect(error(text)?.reason == .trailingBytes)
    }

    @Test func `sixteen levels are read, seventeen are refused`() {
        let deep = { (levels: Int) in String(repeating: "[", count: levels) + String(repeating: "]", count: levels) }
        #expect(error(deep(16)) == nil)
        #expect(error(deep(17)) == JSONError(reason: .tooDeep, offset: 16))
        #expect(error(String(repeating: "{\"a\":", count: 17)) == JSONError(reason: .tooDeep, offset: 80))
    }

    @Test func `a hundred thousand brackets are refused without a deep stack`() {
        #expect(error([UInt8](repeating: UInt8(ascii: "["), count: 100_000))?.reason == .tooDeep)
    }

    @Test func `levels side by side neither add up nor make room`() {
        #expect(error("[" + [String](repeating: "[[]]", count: 100).joined(separator: ",") + "]") == nil)
        #expect(error("[[],[],[]," + String(repeating: "[", count: 16)) == JSONError(reason: .tooDeep, offset: 25))
    }

    @Test(arguments: [
        (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"), (#""\u0041\u00e9\u6f22""#, "Aé漢"), (#""\ud83d\ude00""#, "😀"),
        (#""\uD83D\uDE00!""#, "😀!"), (#""\udbff\udfff""#, "\u{10ffff}"), (#""\u0000""#, "\u{0}"), ("\"漢😀\"", "漢😀"),
        (#""\ufffd""#, "\u{fffd}"),
    ])
    func `strings are read with their escapes`(text: String, expected: String) throws {
        #expect(try value(text).text() == expected)
    }

    @Test(arguments: [
        #""\x""#, #""\'""#, #""\u00g0""#, #""\u+041""#, #""\ude00""#, #""\ude00\ud83d""#, #""\ud83d\u0041""#,
        #""\ud83d\ud83d""#, "\"\\u００４１\"",
    ])
    func `escapes that mean no character are refused`(text: String) {
        #expect(error(text)?.reason == .badEscape)
    }

    @Test(
        arguments: [
            [0x80], [0xff], [0xc3], [0xc0, 0x80], [0xe0, 0x80, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80],
            [0xf0, 0x9f, 0x98],
        ] as [[UInt8]])
    func `strings that are not UTF-8 are refused, skipped ones too`(bytes: [UInt8]) {
        let quote = UInt8(ascii: "\"")
        #expect(error([quote] + bytes + [quote]) == JSONError(reason: .badUTF8, offset: 0))
        #expect(error(Array("{\"".utf8) + bytes + Array("\":1}".utf8))?.reason == .badUTF8)
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("60", 60), ("-5", -5), ("60.0", 60), ("60.9", 60), ("-60.9", -60), ("6e1", 60),
            ("6E+1", 60),
            ("600e-1", 60), ("1e-400", 0), ("0e999999999", 0), ("9223372036854775806", .max - 1),
            ("9223372036854775807", .max),
            ("9223372036854775808", .max),
            ("9007199254740993", 9_007_199_254_740_993), ("-9007199254740993", -9_007_199_254_740_993),
            ("-9223372036854775808", .min), ("-9223372036854775809", .min), ("1e19", .max), ("-1e19", .min),
            ("1e400", .max),
            ("-1e400", .min), ("9223372036854775807.5", .max), (String(repeating: "9", count: 5_000), .max),
        ] as [(String, Int64)])
    func `numbers become the nearest integer in range`(text: String, expected: Int64) throws {
        #expect(try value(text).number() == OutsideNumber(expected))
    }

    @Test func `values of another kind are refused where they begin`() {
        let wrong = JSONError(reason: .wrongKind, offset: 1)
        #expect(throws: wrong) { try value(" 1").text() }
        #expect(throws: wrong) { try value(" \"1\"").number() }
        #expect(throws: wrong) { try value(" []").members() }
        #expect(throws: wrong) { try value(" {}").elements() }
        #expect(throws: wrong) { try value(" null").boolean() }
    }

    @Test func `members, elements, true, false and null are read, of equal keys all and the first one first`() throws {
        let members = try value(#"{"a":"1","b":[true,false,null,{}],"\u0061":2}"#).members()
        #expect(members.map(\.key) == ["a", "b", "a"])
        #expect(try members[0].value.text() == "1")
        let elements = try members[1].value.elements()
        #expect(try elements.prefix(2).map { element throws(JSONError) in try element.boolean() } == [true, false])
        guard case .null = elements[2].content, case .object(let none) = elements[3].content else {
            Issue.record("\(elements)")
            return
        }
        #expect(elements.count == 4 && none.isEmpty)
    }

    @Test func `well-formed text cut at any byte is refused`() {
        let bytes = Array(#"{"a":[1,-2.5e3,"\ud83d\ude00é",true,null],"b":{}}"#.utf8)
        #expect(error(bytes) == nil)
        #expect((0..<bytes.count).filter { error(Array(bytes[..<$0])) == nil }.isEmpty)
    }
}
