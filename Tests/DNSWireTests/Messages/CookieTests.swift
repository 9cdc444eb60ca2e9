import DNSWire
import Testing

struct CookieTests {
    private static let key = "e5e973e5a6b2a43f48e7dc849e37bfcf"
    private static let client = "198.51.100.100"

    /// The cookie that answers the one that was sent, in hexadecimal digits, and whether that was valid.
    private func answer(
        to sent: String, from client: String = client, keys: [String] = [key], at time: UInt32
    ) throws -> (text: String, isValid: Bool) {
        let keys = try keys.map { try #require(SipHash.Key(hex($0))) }
        let address = try #require(IPAddress(client))
        let data = hex(sent)
        guard let found = Cookie.answering(data.span, from: address, keys: keys.span, at: time) else {
            Issue.record("no cookie")
            return ("", false)
        }
        var bytes: [UInt8] = []
        found.cookie.append(to: &bytes)
        #expect(bytes.prefix(4) == [0, 10, 0, 24] && bytes.count == Cookie.optionLength)
        return (bytes.dropFirst(4).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(), found.isValid)
    }

    @Test func `a new client gets the cookie of RFC 9018, appendix A 1`() throws {
        let found = try answer(to: "2464c4abcf10c957", at: 1_559_731_985)
        #expect(found.text == "2464c4abcf10c957010000005cf79f111f8130c3eee29480")
        #expect(!found.isValid)
    }

    @Test func `an older one is renewed, as in appendix A 2`() throws {
        let found = try answer(to: "2464c4abcf10c957010000005cf79f111f8130c3eee29480", at: 1_559_734_385)
        #expect(found.text == "2464c4abcf10c957010000005cf7a871d4a564a1442aca77")
        #expect(found.isValid)
    }

    @Test func `reserved bytes are part of the hash, as in appendix A 3`() throws {
        let sent = "fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5"
        // When it was made; the reply there comes two hours later.
        #expect(try answer(to: sent, from: "203.0.113.203", at: 0x5cf7_8f71).isValid)
        let found = try answer(to: sent, from: "203.0.113.203", at: 1_559_734_700)
        #expect(found.text == "fc93fc62807ddb86010000005cf7a9acf73a7810aca2381e")
        #expect(!found.isValid)
    }

    @Test func `a cookie of the secret before is valid and replaced, as in appendix A 4`() throws {
        let found = try answer(
            to: "22681ab97d52c298010000005cf7c57926556bd0934c72f8", from: "2001:db8:220:1:59de:d0f4:8769:82b8",
            keys: ["445536bcd2513298075a5d379663c962", "dd3bdf9344b678b185a6f5cb60fca715"], at: 1_559_741_961)
        #expect(found.text == "22681ab97d52c298010000005cf7c609a6bb79d16625507a")
        #expect(found.isValid)
    }

    @Test(
        arguments: [
            (-301, false, true), (-300, true, false), (0, true, false), (1_800, true, false), (1_801, true, true),
            (3_600, true, true), (3_601, false, true),
        ]) func `a cookie is valid for an hour, and renewed after half of it`(age: Int, isValid: Bool, isRenewed: Bool)
        throws
    {
        let sent = "2464c4abcf10c957010000005cf79f111f8130c3eee29480"
        let found = try answer(to: sent, at: UInt32(1_559_731_985 + age))
        #expect(found.isValid == isValid)
        #expect((found.text != sent) == isRenewed)
    }

    @Test(arguments: [
        // Another hash, time, version, length, client's part.
        "2464c4abcf10c957010000005cf79f111f8130c3eee29481", "2464c4abcf10c957010000005cf79f121f8130c3eee29480",
        "2464c4abcf10c957020000005cf79f111f8130c3eee29480", "2464c4abcf10c957010000005cf79f111f8130c3eee2948000",
        "2464c4abcf10c958010000005cf79f111f8130c3eee29480", "2464c4abcf10c957010000005cf79f11",
    ])
    func `a cookie that another has made is not valid, and a new one is given`(sent: String) throws {
        let found = try answer(to: sent, at: 1_559_731_985)
        #expect(!found.isValid)
        #expect(try answer(to: found.text, at: 1_559_731_985).isValid)
    }

    @Test func `a cookie is valid from the client's own address alone`() throws {
        let sent = "2464c4abcf10c957010000005cf79f111f8130c3eee29480"
        #expect(try !answer(to: sent, from: "198.51.100.101", at: 1_559_731_985).isValid)
    }
}

struct SipHashTests {
    /// The vectors of the reference implementation, for the key 00 01 .. 0f and the message 00 01 .. of each length.
    @Test(
        arguments: [
            (0, 0x726f_db47_dd0e_0e31), (8, 0x93f5_f579_9a93_2462), (15, 0xa129_ca61_49be_45e5),
            (63, 0x958a_324c_eb06_4572),
        ] as [(Int, UInt64)]) func `a message has the hash of the reference implementation`(count: Int, hash: UInt64)
        throws
    {
        let message = (0..<UInt8(count)).map { $0 }
        func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        var sip = SipHash(try #require(SipHash.Key((0..<16).map { $0 })))
        for start in stride(from: 0, through: count - 8, by: 8) { sip.append(word(message[start..<start + 8])) }
        let rest = message[(count / 8 * 8)...]
        #expect(sip.finish(word(rest), rest.count) == hash)
    }

    @Test(arguments: [0, 15, 17]) func `a key has 16 bytes`(count: Int) {
        #expect(SipHash.Key([UInt8](repeating: 0, count: count)) == nil)
    }
}
