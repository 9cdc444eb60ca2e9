import DNSWire
import Testing

/// Types and codes by name and number.
struct RecordTypeTests {
    @Test(
        arguments: [
            ("A", 1), ("aaaa", 28), ("Https", 65), ("TYPE65", 65), ("type4711", 4_711), ("257", 257), ("ANY", 255),
            ("TYPE0", 0), ("65535", 65_535),
        ] as [(String, UInt16)])
    func `a type is read by mnemonic or number`(text: String, number: UInt16) {
        #expect(RecordType(text)?.rawValue == number)
    }

    @Test func `types have the mnemonics of IANA's registry`() {
        let registered: [(UInt16, String)] = [
            (1, "A"), (2, "NS"), (5, "CNAME"), (6, "SOA"), (12, "PTR"), (13, "HINFO"), (15, "MX"), (16, "TXT"),
            (17, "RP"), (18, "AFSDB"), (28, "AAAA"), (29, "LOC"), (33, "SRV"), (35, "NAPTR"), (37, "CERT"),
            (39, "DNAME"), (41, "OPT"), (43, "DS"), (44, "SSHFP"), (46, "RRSIG"), (47, "NSEC"), (48, "DNSKEY"),
            (50, "NSEC3"), (51, "NSEC3PARAM"), (52, "TLSA"), (53, "SMIMEA"), (59, "CDS"), (60, "CDNSKEY"),
            (61, "OPENPGPKEY"), (64, "SVCB"), (65, "HTTPS"), (99, "SPF"), (251, "IXFR"), (252, "AXFR"), (255, "ANY"),
            (256, "URI"), (257, "CAA"),
        ]
        for (number, mnemonic) in registered { #expect(RecordType(rawValue: number).description == mnemonic) }
    }

    @Test(arguments: ["", "TYPE", "TYPE65536", "TYPE-1", "TYPE+1", "+1", "-1", "B", "A ", "TYPE 1", "0x1"])
    func `text that is no type is refused`(text: String) {
        #expect(RecordType(text) == nil)
    }

    @Test func `every type survives the way to text and back`() {
        let lost = (UInt16.min...UInt16.max).map { RecordType(rawValue: $0) }.filter {
            RecordType($0.description) != $0
        }
        #expect(lost.isEmpty)
    }

    @Test func `only A and AAAA are address types`() {
        #expect((UInt16.min...UInt16.max).filter { RecordType(rawValue: $0).isAddress } == [1, 28])
    }

    @Test func `meta types exist in no zone, and others may`() {
        let meta = (UInt16.min...UInt16.max).filter { RecordType(rawValue: $0).isMeta }
        #expect(meta == [0, 41, 249, 250, 251, 252, 253, 254, 255])
    }

    @Test func `response codes are named as dig names them`() {
        #expect(ResponseCode.serverFailure.description == "SERVFAIL")
        #expect(ResponseCode(rawValue: 3_000).description == "RCODE3000")
        #expect(ResponseCode(rawValue: 0xf003) == .nameError)
    }
}

/// Answers as returned by the upstreams.
struct AnswerTests {
    private let host = name("www.example.com")

    @Test func `an answer without a record of the type asked is negative`() {
        let alias = Record(name: host, type: .cname, ttl: 1, rdata: name("example.net").wire)
        #expect(Answer(answers: [alias]).isNegative(for: .a))
        #expect(!Answer(answers: [alias]).isNegative(for: .cname))
        #expect(!Answer(answers: [alias]).isNegative(for: .any))
        #expect(Answer().isNegative(for: .any))
    }

    @Test func `an answer of addresses owns one record each`() throws {
        let addresses = try ["192.0.2.1", "2001:db8::1"].map { try #require(IPAddress($0)) }
        let answer = Answer(name: host, addresses: addresses, ttl: 60)
        #expect(answer.addresses == addresses)
        #expect(answer.answers.map(\.type) == [.a, .aaaa])
        #expect(answer.answers.allSatisfy { $0.ttl == 60 && $0.name == host })
    }

    @Test func `a negative answer of ours has the given lifetime`() {
        let answer = Answer.negative(.nameError, name: host, ttl: 30)
        #expect(answer.isNegative(for: .a))
        #expect(answer.authorities.map(\.soaMinimum) == [30])
        #expect(answer.authorities.map(\.ttl) == [30])
    }
}

/// Rdata of received records: names are decompressed where the type has them, and everything else is unchanged.
struct RecordDataTests {
    /// The name `example.com` is at byte 12, and `www` and a pointer to it at byte 29.
    private static let prelude =
        hex("0000 8180 0001 0001 0000 0000 076578616d706c6503636f6d00 0001 0001") + hex("03777777 c00c")
    private static let example = "076578616d706c6503636f6d00"
    private static let host = "03777777" + example

    /// The rdata that the parser produces for `rdata` in a record owned by `www.example.com`.
    private func parse(type: UInt16, class: UInt8 = 1, _ rdata: [UInt8]) throws -> [UInt8] {
        let fields: [UInt8] = [UInt8(type >> 8), UInt8(type & 255), 0, `class`, 0, 0, 0, 60, 0, UInt8(rdata.count)]
        let message = try MessageParser.parse(Self.prelude + fields + rdata)
        #expect(message.answers.first?.name == name("www.example.com"))
        return try #require(message.answers.first).rdata
    }

    @Test(
        arguments: [
            (2, "c01d", host), (3, "c01d", host), (4, "c01d", host), (5, "c00c", example),
            (5, "01 61 c00c", "0161" + example),
            (7, "c00c", example), (8, "c00c", example), (9, "c00c", example), (12, "c01d", host), (39, "c01d", host),
            (
                6, "c01d c00c 0000000100000002000000030000000400000005",
                host + example + "0000000100000002000000030000000400000005"
            ),
            (14, "c01d c00c", host + example), (17, "c01d c00c", host + example), (15, "000a c01d", "000a" + host),
            (18, "0001 c01d", "0001" + host), (21, "0001 c01d", "0001" + host), (36, "0001 c01d", "0001" + host),
            (
                24, "000102030405060708090a0b0c0d0e0f1011 c00c ffff",
                "000102030405060708090a0b0c0d0e0f1011" + example + "ffff"
            ),
            (26, "0001 c01d c00c", "0001" + host + example), (30, "c01d 4000", host + "4000"),
            (33, "0001 0002 0050 c01d", "000100020050" + host),
            (35, "0001 0002 0155 047369702b 00 c01d", "000100020155047369702b00" + host),
            (35, "0001 0002 0155 03736970 00 c01d", "00010002015503736970" + "00" + host),
        ] as [(UInt16, String, String)])
    func `names in rdata are written out`(type: UInt16, rdata: String, expected: String) throws {
        #expect(try parse(type: type, hex(rdata)) == hex(expected))
    }

    @Test(arguments: [10, 13, 16, 29, 41 + 1, 43, 46, 47, 48, 64, 65, 99, 257, 4_711, 65_280, 65_535] as [UInt16])
    func `rdata of a type that compresses no names is opaque`(type: UInt16) throws {
        for rdata in ["", "00", "c00c", "ffffffff", "03777777c00c"] {
            #expect(try parse(type: type, hex(rdata)) == hex(rdata))
        }
    }

    @Test(arguments: [1, 28] as [UInt16])
    func `rdata of an address type in another class is opaque`(type: UInt16) throws {
        #expect(try parse(type: type, class: 3, hex("c00c 0001 02")) == hex("c00c 0001 02"))
    }

    @Test func `a set top bit of a TTL means 0`() throws {
        let bytes = hex(
            "0000 8180 0000 0002 0000 0000 00 0001 0001 80000001 0004 c0000201 00 0001 0001 7fffffff 0004 c0000201")
        #expect(try MessageParser.parse(bytes).answers.map(\.ttl) == [0, 0x7fff_ffff])
    }

    @Test func `only an A or AAAA record of the right length is an address`() {
        func address(_ type: RecordType, _ rdata: [UInt8]) -> IPAddress? {
            Record(name: .root, type: type, ttl: 0, rdata: rdata).address
        }
        #expect(address(.a, [192, 0, 2, 1]) == IPAddress("192.0.2.1"))
        #expect(address(.a, [UInt8](repeating: 0, count: 16)) == nil)
        #expect(address(.aaaa, [192, 0, 2, 1]) == nil)
        #expect(address(.txt, [3, 0x61, 0x62, 0x63]) == nil)
        #expect(address(.a, []) == nil)
    }

    @Test func `MINIMUM is the last field of an SOA record`() {
        #expect(Record.negativeSOA(for: name("example.com"), ttl: 300).soaMinimum == 300)
        #expect(Record(name: .root, type: .soa, ttl: 0, rdata: [0, 0]).soaMinimum == nil)
        #expect(Record(name: .root, type: .txt, ttl: 0, rdata: [UInt8](repeating: 1, count: 30)).soaMinimum == nil)
    }

    @Test func `an SOA record of ours is well-formed`() throws {
        let soa = Record.negativeSOA(for: name("www.example.com"), ttl: 30)
        let message = Message(flags: [.response], authorities: [soa])
        #expect(try MessageParser.parse(message.encoded) == message)
    }

    @Test func `the target of a CNAME record is read, that of others is not`() {
        #expect(Record(name: .root, type: .cname, ttl: 0, rdata: [1, 0x61, 0]).canonicalName == name("a"))
        #expect(Record(name: .root, type: .cname, ttl: 0, rdata: [0xc0, 0]).canonicalName == nil)
        #expect(Record(name: .root, type: .ns, ttl: 0, rdata: [1, 0x61, 0]).canonicalName == nil)
    }
}
