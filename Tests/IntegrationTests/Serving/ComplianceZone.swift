import TestServers
import Testing

/// The zone that is asked: at its top a record of every type of genreport's group TYPE, but for unknown ones.
enum ComplianceZone {
    /// A type of the group.
    struct Kind {
        /// As in IANA's registry.
        let name: String
        let number: UInt16
        /// The rdata of the zone's records.
        let data: [[UInt8]]

        init(_ name: String, _ number: UInt16, _ data: [UInt8]...) {
            self.name = name
            self.number = number
            self.data = data
        }
    }

    /// The top of the zone.
    static let name = "example.org"
    /// A name without any record.
    static let emptyName = "empty.example.org"
    /// Of every record, in seconds.
    static let ttl: UInt32 = 60

    static let zone = FakeZone([
        name: .init(
            a: ["192.0.2.1"], aaaa: ["2001:db8::1"],
            others: Dictionary(uniqueKeysWithValues: kinds.map { ($0.number, $0.data) }), ttl: ttl),
        emptyName: .init(ttl: ttl),
    ])

    /// The rdata of the records of a type at the top.
    static func data(_ type: UInt16) -> [[UInt8]] { kinds.first { $0.number == type }?.data ?? [] }

    /// The rdata of the signatures over the records of a type.
    static func signatures(over type: UInt16) -> [[UInt8]] {
        data(RecordType.rrsig).filter { $0.starts(with: number(type)) }
    }

    private static let host = TestName.wire("ns.example.org")
    private static let mailbox = TestName.wire("hostmaster.example.org")
    private static let top = TestName.wire(name)
    /// Names without a label in common with others: the types of RFC 1035 may have them compressed (RFC 3597 section 4),
    /// and `TestMessage` does not expand them in the obsolete ones.
    private static let (strange, stranger) = (TestName.wire("host.example.net"), TestName.wire("box.example.com"))
    private static let address6: [UInt8] = [0x20, 1, 0x0d, 0xb8] + zeros(11) + [1]

    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
    private static func number(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xff)] }
    private static func text(_ value: String) -> [UInt8] { [UInt8(value.utf8.count)] + Array(value.utf8) }
    /// As of an RSA key of 4,096 bits, or of a signature with it: two keys and a signature are more than fits into a
    /// datagram, whatever the client takes.
    private static func large(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 514) }
    private static func signature(over type: UInt16, _ byte: UInt8) -> [UInt8] {
        number(type) + [8, 2, 0, 0, 0, 60] + [0x70, 0, 0, 0, 0x60, 0, 0, 0, 0x12, 0x34] + top + large(byte)
    }

    /// The types of the group TYPE.
    static let kinds: [Kind] = [
        Kind("A", 1, [192, 0, 2, 1]),
        Kind("NS", 2, host),
        Kind("MD", 3, strange),
        Kind("MF", 4, strange),
        Kind("CNAME", 5, host),
        Kind("SOA", 6, host + mailbox + [0, 0, 0, 1, 0, 0, 28, 32, 0, 0, 14, 16, 0, 18, 117, 0, 0, 0, 0, 60]),
        Kind("MB", 7, strange),
        Kind("MG", 8, strange),
        Kind("MR", 9, strange),
        Kind("NULL", 10, [0, 255, 192, 12]),
        Kind("WKS", 11, [192, 0, 2, 1, 6, 0, 0, 0, 64]),
        Kind("PTR", 12, host),
        Kind("HINFO", 13, text("CPU") + text("OS")),
        Kind("MINFO", 14, strange + stranger),
        Kind("MX", 15, number(10) + host),
        Kind("TXT", 16, text("x")),
        Kind("RP", 17, mailbox + host),
        Kind("AFSDB", 18, number(1) + host),
        Kind("X25", 19, text("311061700956")),
        Kind("ISDN", 20, text("150862028003217") + text("004")),
        Kind("RT", 21, number(10) + host),
        Kind("NSAP", 22, [0x47, 0, 5, 0x80]),
        Kind("NSAP-PTR", 23, host),
        Kind("SIG", 24, signature(over: 1, 24)),
        Kind("KEY", 25, [2, 0, 3, 8] + zeros(64)),
        Kind("PX", 26, number(10) + host + mailbox),
        Kind("GPOS", 27, text("-32.6882") + text("116.8652") + text("10.0")),
        Kind("AAAA", 28, address6),
        Kind("LOC", 29, [0, 0x12, 0x16, 0x13, 0x89, 0x17, 0x2d, 0xd0, 0x70, 0xbe, 0x15, 0xf0, 0, 0x98, 0x8d, 0x20]),
        Kind("NXT", 30, host + [0x62, 1, 0x80]),
        Kind("SRV", 33, number(0) + number(1) + number(443) + host),
        Kind("NAPTR", 35, number(1) + number(2) + text("s") + text("SIP+D2T") + text("") + host),
        Kind("KX", 36, number(10) + host),
        Kind("CERT", 37, number(1) + number(7) + [8] + zeros(32)),
        Kind("A6", 38, [0] + address6),
        Kind("DNAME", 39, host),
        Kind("APL", 42, [0, 1, 24, 3, 192, 0, 2]),
        Kind("DS", 43, [0x12, 0x34, 8, 2] + zeros(32)),
        Kind("SSHFP", 44, [4, 2] + zeros(32)),
        Kind("IPSECKEY", 45, [10, 1, 2, 192, 0, 2, 1] + zeros(32)),
        Kind("RRSIG", 46, signature(over: RecordType.soa, 1), signature(over: RecordType.dnskey, 2)),
        Kind("NSEC", 47, host + [0, 1, 0x62]),
        Kind("DNSKEY", 48, [1, 1, 3, 8] + large(3), [1, 0, 3, 8] + large(4)),
        Kind("DHCID", 49, [0, 1, 1] + zeros(32)),
        Kind("NSEC3", 50, [1, 0, 0, 0, 0, 20] + zeros(20) + [0, 1, 0x62]),
        Kind("NSEC3PARAM", 51, [1, 0, 0, 0, 0]),
        Kind("TLSA", 52, [3, 1, 1] + zeros(32)),
        Kind("SMIMEA", 53, [3, 1, 1] + zeros(32)),
        Kind("HIP", 55, [16, 2, 0, 4] + zeros(16) + [1, 2, 3, 4]),
        Kind("CDS", 59, [0x12, 0x34, 8, 2] + zeros(32)),
        Kind("CDNSKEY", 60, [1, 1, 3, 8] + zeros(64)),
        Kind("OPENPGPKEY", 61, [0x99, 1] + zeros(64)),
        Kind("SPF", 99, text("v=spf1 -all")),
        Kind("NID", 104, number(10) + [0, 0x14, 0x4f, 0xff, 0xff, 0x20, 0xee, 0x64]),
        Kind("L32", 105, number(10) + [10, 1, 2, 0]),
        Kind("L64", 106, number(10) + [0x20, 1, 0x0d, 0xb8, 0x11, 0x40, 0x10, 0]),
        Kind("LP", 107, number(10) + host),
        Kind("EUI48", 108, [0, 0, 0x5e, 0, 0x53, 0x2a]),
        Kind("EUI64", 109, [0, 0, 0x5e, 0xef, 0x10, 0, 0, 0x2a]),
        Kind("URI", 256, number(10) + number(1) + Array("https://www.example.org/".utf8)),
        Kind("CAA", 257, [0] + text("issue") + Array(";".utf8)),
        Kind("AVC", 258, text("app-name:x")),
        Kind("DOA", 259, zeros(8) + [3] + text("text/plain") + [120]),
        Kind("DLV", 32_769, [0x12, 0x34, 8, 2] + zeros(32)),
        // Assigned to nothing: the zone has no such record.
        Kind("TYPE1000", 1_000),
    ]
}
