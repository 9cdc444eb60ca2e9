import Testing

@testable import DNSWire

struct ReplyLifetimeTests {
    private static let question = "03777777076578616d706c6503636f6d00 0001 0001"
    private static let soa = "c010 0006 0001 00000078 0016 00 00 00000001 00000002 00000003 00000004 0000003c"
    private static let opt = "00 0029 04d0 00000000 0000"

    private func seconds(_ text: String) -> UInt32? { ReplyLifetime.seconds(hex(text).span) }

    private func a(_ ttl: String) -> String { "c00c 0001 0001 \(ttl) 0004 c0000201" }

    @Test func `the smallest TTL of the answer counts`() {
        let records = a("0000012c") + a("00000005") + a("00000e10")
        #expect(seconds("abcd 8180 0001 0003 0001 0001" + Self.question + records + Self.soa + Self.opt) == 5)
    }

    @Test(arguments: ["8180", "8183"])
    func `a negative answer has the smaller one of its SOA record's two`(flags: String) {
        #expect(seconds("abcd \(flags) 0001 0000 0001 0001" + Self.question + Self.soa + Self.opt) == 60)
    }

    @Test(arguments: ["8180", "8183"])
    func `a negative answer behind an alias lives no longer than the negative part`(flags: String) {
        let alias = "c00c 0005 0001 00015180 0004 0161c010"
        #expect(seconds("abcd \(flags) 0001 0001 0001 0001" + Self.question + alias + Self.soa + Self.opt) == 60)
        let short = "c00c 0005 0001 00000005 0004 0161c010"
        #expect(seconds("abcd \(flags) 0001 0001 0001 0001" + Self.question + short + Self.soa + Self.opt) == 5)
        #expect(seconds("abcd \(flags) 0001 0001 0000 0001" + Self.question + alias + Self.opt) == 86_400)
    }

    @Test(arguments: ["8182", "8185", "8181"])
    func `an error has none`(flags: String) {
        #expect(seconds("abcd \(flags) 0001 0000 0001 0000" + Self.question + Self.soa) == nil)
    }

    @Test func `a negative answer without a SOA record has none`() {
        #expect(seconds("abcd 8180 0001 0000 0000 0001" + Self.question + Self.opt) == nil)
    }

    @Test func `a response that is cut anywhere has none`() {
        let whole = hex("abcd 8180 0001 0001 0000 0000" + Self.question + a("0000012c"))
        for count in 0..<whole.count { #expect(ReplyLifetime.seconds(Array(whole.prefix(count)).span) == nil) }
    }
}
