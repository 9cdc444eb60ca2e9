import DNSWire
import Testing

/// The OPT record as read by the parser and written by the builder (RFC 6891 section 6.1).
struct EDNSTests {
    private func parse(_ opt: String) throws -> EDNS? {
        try MessageParser.parse(hex("0000 0100 0000 0000 0000 0001" + opt)).edns
    }

    @Test func `size, version, flags and options are read`() throws {
        let edns = try parse("00 0029 04d0 01 02 8000 0010 000a 0008 0102030405060708 000b 0000")
        let cookie = EDNSOption(code: .cookie, data: [1, 2, 3, 4, 5, 6, 7, 8])
        let expected = EDNS(
            udpPayloadSize: 1_232, version: 2, extendedResponseCode: 1, dnssecOK: true,
            options: [cookie, EDNSOption(code: .tcpKeepalive, data: [])])
        #expect(edns == expected)
    }

    @Test func `flags other than DO are ignored`() throws {
        #expect(try parse("00 0029 04d0 00 00 7fff 0000") == EDNS())
    }

    @Test func `unknown options are retained as they are`() throws {
        let edns = try parse("00 0029 04d0 00000000 0006 fde9 0002 c00c")
        #expect(edns?.options == [EDNSOption(code: EDNSOption.Code(rawValue: 65_001), data: [0xc0, 0x0c])])
    }

    @Test func `an OPT record between other additional records is found`() throws {
        let record = "00 0010 0001 00000000 0001 00"
        let message = try MessageParser.parse(
            hex("0000 0100 0000 0000 0000 0003" + record + "00 0029 04d0 00000000 0000" + record))
        #expect(message.edns == EDNS())
        #expect(message.additionals.count == 2)
    }

    @Test func `an OPT record is written in eleven bytes`() {
        let bytes = Message(edns: EDNS(dnssecOK: true)).encoded
        #expect(Array(bytes[Header.length...]) == hex("00 0029 04d0 00 00 8000 0000"))
        #expect(bytes.count - Header.length == EDNS.recordLength)
    }
}
