import DNSWire
import HTTPDNS
import Testing

/// JSON text, well-formed and not.
struct JSONReaderTests {
    private func error(_ text: String) -> JSONError? { error(Array(text.utf8)) }

    /// The reason why `bytes` are not one JSON value; nil when they are one.
    private func error(_ bytes: [UInt8]) -> JSONError? {
        do {
            try JSONReader.read(bytes) { _ in }
            return nil
        } catch {
            return error
        }
    }

    private func string(_ text: String) throws(JSONError) -> String {
        try JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try reader.string() }
    }

    private func integer(_ text: String) throws(JSONError) -> OutsideNumber {
        try JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in try reader.integer() }
    }

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
        #expect(try string(text) == expected)
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
        #expect(try integer(text) == OutsideNumber(expected))
    }

    @Test func `values of another kind are refused where they begin`() {
        let wrong = JSONError(reason: .wrongKind, offset: 1)
        #expect(throws: wrong) { try string(" 1") }
        #expect(throws: wrong) { try integer(" \"1\"") }
        #expect(throws: wrong) {
            try JSONReader.read(Array(" []".utf8)) { reader throws(JSONError) in try reader.object { _, _ in } }
        }
        #expect(throws: wrong) {
            try JSONReader.read(Array(" {}".utf8)) { reader throws(JSONError) in try reader.array { _ in } }
        }
        #expect(throws: wrong) {
            try JSONReader.read(Array(" 1".utf8)) { reader throws(JSONError) in _ = try reader.boolean() }
        }
        #expect(throws: wrong) {
            try JSONReader.read(Array(" 1".utf8)) { reader throws(JSONError) in try reader.null() }
        }
    }

    @Test func `of equal keys the first one counts`() throws {
        var values: [OutsideNumber] = []
        try JSONReader.read(Array(#"{"a":1,"b":2,"a":3,"\u0061":4}"#.utf8)) { reader throws(JSONError) in
            try reader.object { reader, _ throws(JSONError) in values.append(try reader.integer()) }
        }
        #expect(values == [1, 2])
    }

    @Test func `of many equal keys the first one counts too`() throws {
        let keys = (0..<40).map { "k\($0)" }
        let members = (keys + keys.reversed()).enumerated().map { "\"\($1)\":\($0)" }
        var values: [OutsideNumber] = []
        try JSONReader.read(Array("{\(members.joined(separator: ","))}".utf8)) { reader throws(JSONError) in
            try reader.object { reader, _ throws(JSONError) in values.append(try reader.integer()) }
        }
        #expect(values == (0..<40).map { OutsideNumber($0) })
    }

    @Test func `members and elements that are not needed are skipped`() throws {
        var read: [String] = []
        let text = #"{"x":{"ttl":[1,{"y":"z"}]},"a":"1","n":null,"b":[true,"2",{}]}"#
        try JSONReader.read(Array(text.utf8)) { reader throws(JSONError) in
            try reader.object { reader, key throws(JSONError) in
                if key == "a" { read.append(try reader.string()) }
                guard key == "b" else { return }
                try reader.array { reader throws(JSONError) in
                    if try reader.kind() == .string { read.append(try reader.string()) }
                }
            }
        }
        #expect(read == ["1", "2"])
    }

    @Test func `true, false and null are read`() throws {
        var values: [Bool?] = []
        try JSONReader.read(Array("[true,false,null]".utf8)) { reader throws(JSONError) in
            try reader.array { reader throws(JSONError) in
                if try reader.kind() == .null {
                    try reader.null()
                    values.append(nil)
                } else {
                    values.append(try reader.boolean())
                }
            }
        }
        #expect(values == [true, false, nil])
    }

    @Test func `well-formed text cut at any byte is refused`() {
        let bytes = Array(#"{"a":[1,-2.5e3,"\ud83d\ude00é",true,null],"b":{}}"#.utf8)
        #expect(error(bytes) == nil)
        #expect((0..<bytes.count).filter { error(Array(bytes[..<$0])) == nil }.isEmpty)
    }
}
