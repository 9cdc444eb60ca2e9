import DNSWire
import Testing

/// A client's query as read by the UDP threads.
struct QueryTests {
    private static let question = "03777777076578616d706c6503636f6d00 0001 0001"
    private static let opt = "00 0029 04d0 00000000 0000"

    private func read(_ bytes: [UInt8]) -> (query: Query?, key: [UInt8]) {
        let query = Query.read(bytes.span)
        guard let query, query.fault == .noError else { return (query, []) }
        return (query, QueryKey(query, in: bytes.span).array)
    }

    private func fault(_ text: String) -> ResponseCode? { read(hex(text)).query?.fault }

    @Test func `a plain query is read`() throws {
        let (query, key) = read(hex("abcd 0100 0001 0000 0000 0000" + Self.question))
        let read = try #require(query)
        #expect(read.id == 0xabcd)
        #expect(read.flags == .recursionDesired)
        #expect(read.fault == .noError)
        #expect(read.questionLength == 21)
        #expect(read.nameLength == 17)
        #expect(read.type == .a)
        #expect(read.class == .internet)
        #expect(!read.hasEDNS)
        #expect(read.udpPayloadSize == 512)
        #expect(!read.dnssecOK)
        #expect(!read.hasKeepalive)
        #expect(key == hex("03777777076578616d706c6503636f6d00 0001 0001 00"))
    }

    @Test func `fewer than 12 bytes and responses get no reply`() {
        for length in 0..<12 { #expect(read([UInt8](repeating: 0, count: length)).query == nil) }
        #expect(fault("abcd 8100 0001 0000 0000 0000" + Self.question) == nil)
    }

    @Test(arguments: ["0800", "1000", "2000", "2800", "7800"])
    func `another opcode is not implemented`(flags: String) {
        #expect(fault("abcd \(flags) 0001 0000 0000 0000" + Self.question) == .notImplemented)
    }

    @Test(arguments: ["0000", "0002", "0100", "0101", "ffff"])
    func `a question count other than one is a format error`(count: String) {
        #expect(fault("abcd 0100 \(count) 0000 0000 0000" + Self.question) == .formatError)
    }

    @Test(arguments: [
        "", "03", "037777", "03777777", "0377777700", "0377777700 00", "0377777700 0001", "0377777700 0001 00",
        "c00c 0001 0001", "0377777740 0001 0001", "03777777 c00c 0001 0001", "80 00 0001 0001",
    ])
    func `a question that cannot be read is a format error and not echoed`(question: String) {
        let query = read(hex("abcd 0100 0001 0000 0000 0000" + question)).query
        #expect(query?.fault == .formatError)
        #expect(query?.questionLength == 0)
    }

    @Test(arguments: [
        ("0001 0000 0000", ""), ("0000 0001 0000", ""), ("0000 0000 0001", ""), ("0000 0000 0001", "00"),
        ("0000 0000 0001", "00 0029 04d0 00000000"), ("0000 0000 0001", "00 0029 04d0 00000000 0001"),
        ("0000 0000 0001", "40 0029 04d0 00000000 0000"), ("ffff ffff ffff", ""),
        // An OPT record in another section, two of them, one that is not at the root, one whose owner is a pointer.
        ("0001 0000 0000", opt), ("0000 0001 0000", opt), ("0000 0000 0002", opt + opt),
        ("0000 0000 0001", "0161" + opt), ("0000 0000 0001", "c01c 0029 04d0 00000000 0000"),
        // Options that extend past their record.
        ("0000 0000 0001", "00 0029 04d0 00000000 0003 000300"),
        ("0000 0000 0001", "00 0029 04d0 00000000 0004 00030001"),
        // Cookies of 7, 9 and 41 bytes.
        ("0000 0000 0001", "00 0029 04d0 00000000 000b 000a0007 01020304050607"),
        ("0000 0000 0001", "00 0029 04d0 00000000 000d 000a0009 010203040506070809"),
        ("0000 0000 0001", "00 0029 04d0 00000000 002d 000a0029" + String(repeating: "00", count: 41)),
        ("0000 0000 0001", "00 0029 04d0 00000000 0004 000a0000"),
    ])
    func `records that cannot be read are a format error with the question echoed`(counts: String, records: String) {
        let query = read(hex("abcd 0100 0001" + counts + Self.question + records)).query
        #expect(query?.fault == .formatError)
        #expect(query?.questionLength == 21)
    }

    @Test func `EDNS is read`() throws {
        let text = "abcd 0110 0001 0000 0000 0001" + Self.question + "00 0029 1000 00 00 8000 0000"
        let query = try #require(read(hex(text)).query)
        #expect(query.fault == .noError)
        #expect(query.hasEDNS)
        #expect(query.udpPayloadSize == 4_096)
        #expect(query.dnssecOK)
        #expect(query.checkingDisabled)
    }

    @Test(arguments: ["0000", "01ff", "0200"])
    func `a payload size under 512 means 512`(size: String) throws {
        let text = "abcd 0100 0001 0000 0000 0001" + Self.question + "00 0029 \(size) 00000000 0000"
        #expect(try #require(read(hex(text)).query).udpPayloadSize == 512)
    }

    @Test func `an OPT record behind another additional record is found`() throws {
        let text = "abcd 0100 0001 0000 0000 0002" + Self.question + "c00c 0001 0001 00000000 0004 c0000201" + Self.opt
        #expect(try #require(read(hex(text)).query).hasEDNS)
    }

    @Test func `another version of EDNS is a bad version, whatever its options`() {
        let text = "abcd 0100 0001 0000 0000 0001" + Self.question + "00 0029 04d0 00 01 0000 0003 ffffff"
        let query = read(hex(text)).query
        #expect(query?.fault == .badVersion)
        #expect(query?.hasEDNS == true)
        #expect(query?.questionLength == 21)
    }

    @Test(arguments: ["000b 0000", "000b 0002 0064"])
    func `the keepalive option is seen`(option: String) throws {
        let bytes = hex(option)
        let text = "abcd 0100 0001 0000 0000 0001" + Self.question + "00 0029 04d0 00000000"
        #expect(try #require(read(hex(text) + [0, UInt8(bytes.count)] + bytes).query).hasKeepalive)
    }

    @Test(arguments: ["000a 0008 0102030405060708", "fde9 0002 0102", "0008 0004 00010000", "000c 0003 000000"])
    func `well-formed and unknown options do no harm`(option: String) {
        let bytes = hex(option)
        let text = "abcd 0100 0001 0000 0000 0001" + Self.question + "00 0029 04d0 00000000"
        #expect(read(hex(text) + [0, UInt8(bytes.count)] + bytes).query?.fault == .noError)
    }

    @Test func `bytes behind the message do no harm`() {
        #expect(fault("abcd 0100 0001 0000 0000 0000" + Self.question + "ffff") == .noError)
    }

    @Test func `a name of 255 bytes is read, a longer one is a format error`() {
        let header = hex("abcd 0100 0001 0000 0000 0000")
        let (query, key) = read(header + NameTests.longest + [0, 1, 0, 1])
        #expect(query?.fault == .noError)
        #expect(key == NameTests.longest + [0, 1, 0, 1, 0])
        #expect(key.count == 260)
        #expect(read(header + [1, 0x61] + NameTests.longest + [0, 1, 0, 1]).query?.fault == .formatError)
        let labels = [UInt8]((0..<127).flatMap { _ in [1, 0x61] as [UInt8] })
        #expect(read(header + labels + [0, 0, 1, 0, 1]).query?.fault == .noError)
        #expect(read(header + labels + [1, 0x61, 0, 0, 1, 0, 1]).query?.fault == .formatError)
    }

    @Test func `the letter case of a name is no part of the key`() {
        let lower = read(hex("0001 0100 0001 0000 0000 0000 0161 025a7a 00 0001 0001")).key
        let upper = read(hex("0002 0100 0001 0000 0000 0000 0141 027a5a 00 0001 0001")).key
        #expect(lower == upper)
    }

    @Test func `type, class, DO and CD each make another key`() {
        let texts = [
            "0001 0100 0001 0000 0000 0000 0161 00 0001 0001", "0001 0100 0001 0000 0000 0000 0161 00 001c 0001",
            "0001 0100 0001 0000 0000 0000 0161 00 0001 0003", "0001 0110 0001 0000 0000 0000 0161 00 0001 0001",
            "0001 0100 0001 0000 0000 0001 0161 00 0001 0001 00 0029 04d0 00 00 8000 0000",
            "0001 0110 0001 0000 0000 0001 0161 00 0001 0001 00 0029 04d0 00 00 8000 0000",
            "0001 0100 0001 0000 0000 0000 0162 00 0001 0001",
        ]
        #expect(Set(texts.map { read(hex($0)).key }).count == texts.count)
    }

    @Test func `ID, RD, AD and EDNS without DO make no other key`() {
        let texts = [
            "0001 0100 0001 0000 0000 0000 0161 00 0001 0001", "ffff 0020 0001 0000 0000 0000 0161 00 0001 0001",
            "0001 0100 0001 0000 0000 0001 0161 00 0001 0001" + Self.opt,
        ]
        #expect(Set(texts.map { read(hex($0)).key }).count == 1)
    }

    @Test func `the key of a query is the key of its question`() {
        let key = read(hex("0001 0110 0001 0000 0000 0000" + Self.question)).key
        let question = Question(name: name("wWw.example.com"), type: .a)
        let made = QueryKey(question, dnssecOK: false, checkingDisabled: true)
        #expect(made.array == key)
        #expect((0..<made.count).map { made[$0] } == key)
    }

    @Test func `a query cut at any byte is a format error or no query`() {
        let bytes = hex(
            "abcd 0100 0001 0000 0000 0001" + Self.question + "00 0029 04d0 00000000 000c 000a0008 0102030405060708")
        #expect(read(bytes).query?.fault == .noError)
        for length in 0..<bytes.count {
            let query = read(Array(bytes[..<length])).query
            #expect(length < 12 ? query == nil : query?.fault == .formatError)
        }
    }
}
