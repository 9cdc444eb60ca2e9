import DNSWire
import Testing

@Suite struct SipHashTests {
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
