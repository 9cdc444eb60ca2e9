import DNSWire
import Testing

/// Names as text: escapes, limits, and the way back.
struct NameTextTests {
    @Test(arguments: [
        ("www.example.com", "03777777076578616d706c6503636f6d00"),
        ("www.example.com.", "03777777076578616d706c6503636f6d00"),
        (".", "00"), ("", "00"), (#"a\.b.c"#, "03612e62016300"), (#"a\\b"#, "03615c6200"),
        (#"\097\255\000"#, "0361ff0000"),
        (#"\@x"#, "02407800"), ("münchen", "086dc3bc6e6368656e00"),
        ("_dns.resolver.arpa", "045f646e73087265736f6c766572046172706100"),
    ])
    func `text is read as the wire form`(text: String, wire: String) throws {
        #expect(try Name(text).wire == hex(wire))
    }

    @Test(arguments: [
        ("a..b", NameError.emptyLabel), (".a", .emptyLabel), ("..", .emptyLabel), ("a..", .emptyLabel),
        (#"a\"#, .badEscape), (#"\25"#, .badEscape), (#"\256"#, .badEscape), (#"\2x5"#, .badEscape),
        (String(repeating: "x", count: 64) + ".com", .labelTooLong), (String(repeating: "x", count: 64), .labelTooLong),
    ])
    func `text that is no name is refused`(text: String, error: NameError) {
        #expect(throws: error) { try Name(text) }
    }

    @Test func `253 characters of text are the longest name, 254 are too many`() throws {
        let label = String(repeating: "x", count: 63)
        let longest = [label, label, label, String(repeating: "y", count: 61)].joined(separator: ".")
        #expect(longest.utf8.count == 253)
        #expect(try Name(longest).wire.count == 255)
        #expect(throws: NameError.tooLong) { try Name(longest + "y") }
        #expect(throws: NameError.tooLong) { try Name("a." + longest) }
    }

    @Test(arguments: [
        ("", NameError.empty), ("b\u{fc}cher.example", .notVisible), ("www.example.com ", .notVisible),
        ("www\t.example", .notVisible), ("a..b", .emptyLabel),
    ])
    func `a name that is typed is neither empty nor of characters that cannot be seen or are not ASCII`(
        text: String, error: NameError
    ) {
        #expect(throws: error) { try Name(typed: text) }
    }

    @Test(arguments: [".", "www.example.com", #"\000\032x.example"#])
    func `a typed name may be the root, and have any byte that is escaped`(text: String) throws {
        #expect(try Name(typed: text) == Name(text))
    }

    @Test func `very long text is refused`() {
        #expect(throws: NameError.self) { try Name(String(repeating: "a.", count: 100_000)) }
        #expect(throws: NameError.self) { try Name(String(repeating: "a", count: 100_000)) }
    }

    @Test(arguments: [#"a\.b"#, #"a\\b"#, #"a\"b"#, #"\;\(\)\@\$"#, #"\000\032\127\255"#, "*.example.com", "."])
    func `text survives the way there and back`(text: String) throws {
        #expect(try Name(text).description == text)
    }

    @Test func `every byte of a label survives the way to text and back`() throws {
        for byte in UInt8.min...UInt8.max {
            let original = try Name(wire: [1, byte, 0])
            #expect(try Name(original.description).wire == original.wire)
        }
    }
}
