import Testing

@testable import DNSWire

/// Messages that must be refused, named after their defect.
struct MalformedMessageTests {
    private static let opt = "00 0029 04d0 00000000 0000"

    /// The parser's error for hexadecimal digits; nil when it reads them.
    private func fault(_ text: String) -> MessageParseError.Reason? {
        do {
            _ = try MessageParser.parse(hex(text))
            return nil
        } catch {
            return error.reason
        }
    }

    @Test(arguments: ["", "00", "0000 8180 0001 0000 0000 00"])
    func `short header`(text: String) {
        #expect(fault(text) == .shortHeader)
    }

    @Test(arguments: [
        "0000 8180 0001 0000 0000 0000", "0000 8180 ffff ffff ffff ffff", "0000 8180 0001 0000 0000 0000 01",
        "0000 8180 0001 0000 0000 0000 00 0001", "0000 8180 0001 0000 0000 0000 00 0001 00",
        "0000 8180 0001 0000 0000 0000 01 61 00",
    ])
    func `question that ends early`(text: String) {
        #expect(fault(text) == .truncated)
    }

    @Test(arguments: [
        "", "00", "00 0001", "00 0001 0001", "00 0001 0001 00000000", "00 0001 0001 00000000 00",
        "00 ff00 0001 00000000 0005 00000000",
    ])
    func `record that ends early`(record: String) {
        #expect(fault("0000 8180 0000 0001 0000 0000" + record) == .truncated)
        #expect(fault("0000 8180 0000 0000 0001 0000" + record) == .truncated)
        #expect(fault("0000 8180 0000 0000 0000 0001" + record) == .truncated)
    }

    @Test func `name of more than 255 bytes`() {
        let label = "3f" + String(repeating: "61", count: 63)
        let name = label + label + label + "3e" + String(repeating: "62", count: 62) + "00"
        #expect(fault("0000 8180 0001 0000 0000 0000" + name + "0001 0001") == .nameTooLong)
    }

    @Test func `name made too long by its pointer`() {
        let label = "3f" + String(repeating: "61", count: 63)
        let text =
            "0000 8180 0001 0001 0000 0000" + label + label + label + "00 0001 0001"
            + label + "c00c 0001 0001 00000000 0004 c0000201"
        #expect(fault(text) == .nameTooLong)
    }

    @Test(arguments: [
        ("0001", "0003 c00002"), ("0001", "0005 c000020100"), ("0001", "0010 20010db8000000000000000000000001"),
        ("001c", "0004 c0000201"), ("0005", "0000"), ("0005", "0004 016100ff"), ("0005", "0004 01610000"),
        ("0002", "0001 0161 00"), ("0006", "0017 00 00 0000000000000000000000000000000000000000 00"),
        ("0006", "0015 00 00 00000000000000000000000000000000000000"), ("000f", "0001 00"), ("000f", "0002 0000"),
        ("000e", "0001 00"), ("0021", "0006 000000000000"), ("0023", "0004 00000000"),
        ("0023", "0008 00000000 05 616263"), ("0018", "0010 00000000000000000000000000000000"),
    ])
    func `rdata that does not fit its type`(type: String, rest: String) {
        let record = "00" + type + "0001 00000000" + rest
        #expect(fault("0000 8180 0000 0001 0000 0000" + record + "00000000") == .rdataLength)
    }

    @Test func `rdata whose name is forever`() {
        #expect(fault("0000 8180 0000 0001 0000 0000 00 0005 0001 00000000 0002 c017") == .forwardPointer)
    }

    @Test(arguments: [
        // In the answer section, in the authority section, two of them, not at the root, its owner a pointer to the root.
        "0000 0001 0000 0000" + opt, "0000 0000 0001 0000" + opt, "0000 0000 0000 0002" + opt + opt,
        "0000 0000 0000 0001 0161" + opt, "0001 0000 0000 0001 00 0001 0001 c00c 0029 04d0 00000000 0000",
    ])
    func `OPT record in another place than its own, or a second one`(rest: String) {
        #expect(fault("0000 8180" + rest) == .misplacedOPT)
    }

    @Test(arguments: ["0003 000a00", "0004 000a 0001", "0006 000a 0003 6161", "0009 000a 0000 000b 0002 00"])
    func `EDNS option that reaches past its record`(rest: String) {
        #expect(fault("0000 8180 0000 0000 0000 0001 00 0029 04d0 00000000" + rest + "0000") == .optionLength)
    }

    @Test func `OPT record that ends early`() {
        #expect(fault("0000 8180 0000 0000 0000 0001 00 0029 04d0 00000000 0004 000a") == .truncated)
        #expect(fault("0000 8180 0000 0000 0000 0001 00 0029 04d0 0000") == .truncated)
    }

    @Test func `rdata that is too long once its name is written out`() {
        // An NXT record (RFC 3755 obsoletes it, RFC 3597 has its name decompressed) of 65,535 bytes, its name as a
        // pointer.
        let name = "3f" + String(repeating: "61", count: 63) + "00"
        let text =
            "0000 8180 0001 0001 0000 0000" + name + "0001 0001 00 001e 0001 00000000 ffff c00c"
            + String(repeating: "00", count: 65_533)
        #expect(fault(text) == .rdataLength)
    }

    @Test func `the error says where`() {
        #expect(throws: MessageParseError(reason: .labelType, offset: 12)) {
            try MessageParser.parse(hex("0000 8180 0001 0000 0000 0000 40 0001 0001"))
        }
    }
}
