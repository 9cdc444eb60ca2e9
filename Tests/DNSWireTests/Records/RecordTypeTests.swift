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
