import Admin
import DNSWire
import HTTPDNS
import Testing

/// Records in presentation form.
struct RecordTextTests {
    private func text(_ type: UInt16, _ hexadecimal: String) throws -> String {
        let rdata = try #require(TextDecoding.hexadecimal(hexadecimal))
        return Record(name: .root, type: RecordType(rawValue: type), ttl: 60, rdata: rdata).dataText
    }

    /// What `dig +nosplit` (BIND 9.18) prints of these bytes.
    @Test(arguments: [
        (2, "036e7331076578616d706c6503636f6d00", ##"ns1.example.com."##),
        (5, "03612062026578076578616d706c6500", ##"a\032b.ex.example."##),
        (12, "04686f7374076578616d706c65036e657400", ##"host.example.net."##),
        (39, "056f74686572076578616d706c6500", ##"other.example."##),
        (15, "000a046d61696c076578616d706c6503636f6d00", ##"10 mail.example.com."##),
        (15, "000000", ##"0 ."##),
        (
            6,
            "036e7331076578616d706c6503636f6d0004686f7374066d6173746572076578616d706c6503636f6d0078c4059100001c2000000e1000127500ffffffff",
            ##"ns1.example.com. host.master.example.com. 2026112401 7200 3600 1209600 4294967295"##
        ),
        (16, "0b763d73706631202d616c6c", ##""v=spf1 -all""##),
        (
            16, "1661202271756f7465645c22203b201b5b324a007fc3a900067365636f6e64",
            ##""a \"quoted\\\" ; \027[2J\000\127\195\169" "" "second""##
        ),
        (13, "075246433834383200", ##""RFC8482" """##),
        (
            17, "0561646d696e076578616d706c6503636f6d0003747874076578616d706c6503636f6d00",
            ##"admin.example.com. txt.example.com."##
        ),
        (18, "000103616673076578616d706c6503636f6d00", ##"1 afs.example.com."##),
        (33, "0000000513c403736970076578616d706c6503636f6d00", ##"0 5 5060 sip.example.com."##),
        (
            35, "0064000a0155074532552b7369701b215e2e2a24217369703a696e666f406578616d706c652e636f6d2100",
            ##"100 10 "U" "E2U+sip" "!^.*$!sip:info@example.com!" ."##
        ),
        (
            43, "ec450502000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            ##"60485 5 2 000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F"##
        ),
        (
            44, "0402000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            ##"4 2 000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F"##
        ),
        (
            46,
            "00010d020000012c6b36ec806b0e0e0086c9076578616d706c6503636f6d00000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f",
            ##"A 13 2 300 20270101000000 20261201000000 34505 example.com. AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw=="##
        ),
        (47, "046e657874076578616d706c6503636f6d000006400100000003010140", ##"next.example.com. A MX RRSIG NSEC CAA"##),
        (
            48,
            "0101030d000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f",
            ##"257 3 13 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw=="##
        ),
        (
            52, "030101000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            ##"3 1 1 000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F"##
        ),
        (59, "0000000000", ##"0 0 0 00"##),
        (60, "0000030000", ##"0 3 0 AA=="##),
        (64, "000003737663076578616d706c65036e657400", ##"0 svc.example.net."##),
        (
            65, "0001000001000602683302683200040008c0000201c00002020006001020010db8000000000000000000000001",
            ##"1 . alpn="h3,h2" ipv4hint=192.0.2.1,192.0.2.2 ipv6hint=2001:db8::1"##
        ),
        (
            65,
            "00100161076578616d706c650000000004000100030001000c08665c6f6f2c62617202683200020000000300021f9000050003fe0d00000700102f646e732d71756572797b3f646e737d029b00076865226c6c6fd2029c0000",
            ##"16 a.example. mandatory=alpn,port alpn="f\\\\oo\\,bar,h2" no-default-alpn port=8080 ech=/g0A key7="/dns-query{?dns}" key667="he\"llo\210" key668"##
        ),
        (257, "000569737375656c657473656e63727970742e6f72673b20613d223122", ##"0 issue "letsencrypt.org; a=\"1\"""##),
        (256, "000a00016674703a2f2f6674702e6578616d706c652f", ##"10 1 "ftp://ftp.example/""##),
        (65400, "abcdef", ##"\# 3 ABCDEF"##),
        (65400, "", ##"\# 0"##),
    ])
    func `rdata is written as dig writes it`(type: UInt16, rdata: String, expected: String) throws {
        #expect(try text(type, rdata) == expected)
    }

    @Test(arguments: [
        // Cut off; a name that does not end; a byte too many; an empty digest; windows of types that do not ascend; a
        // tag that is none; a malformed parameter; addresses of a wrong length.
        (15, "00"), (15, "000a046d61"), (2, "00ff"), (16, ""), (16, "05616263"), (43, "ec450502"), (47, "000001400000"),
        (47, "000100"), (257, "000569730d0a2030"), (65, "00010000010000"), (65, "0001000004000301"), (1, "c000"),
        (28, "20"),
    ])
    func `malformed rdata is written in the form for unknown types`(type: UInt16, rdata: String) throws {
        let digits = rdata.uppercased()
        #expect(try text(type, rdata) == "\\# \(rdata.count / 2)" + (digits.isEmpty ? "" : " " + digits))
    }

    @Test func `no bytes whatever speak to a terminal, and none end the program`() throws {
        var numbers = SystemRandomNumberGenerator()
        for type in UInt16(0)...260 {
            for length in 0..<48 {
                let rdata = (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &numbers) & 0x3f }
                let text = Record(name: .root, type: RecordType(rawValue: type), ttl: 60, rdata: rdata).dataText
                #expect(text.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "\(type) \(rdata)")
            }
        }
    }
}
