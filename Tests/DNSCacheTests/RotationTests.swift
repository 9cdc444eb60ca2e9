import DNSWire
import Testing

@testable import DNSCache

/// The order of the addresses in one response.
struct RotationTests {
    private static let question = Question(name: name("www.example.com"), type: .a)

    private static func addresses(_ count: Int, _ type: RecordType = .a) -> [IPAddress] {
        (1...count).map { type == .a ? .v4(0xc000_0200 + UInt32($0)) : .v6(UInt128($0)) }
    }

    private static func records(_ count: Int, _ type: RecordType = .a, owner: String = "www.example.com") -> [Record] {
        addresses(count, type).map { Record(name: name(owner), address: $0, ttl: 300) }
    }

    private static func packed(_ answer: Answer, rotates: Bool = true) throws -> PackedAnswer {
        var packed = try #require(PackedAnswer(answer, for: question))
        packed.rotates = rotates
        return packed
    }

    private func reply(_ answer: PackedAnswer, id: UInt16, aging: Reply.Aging = .fresh(age: 0)) -> [UInt8] {
        let query = TestQuery("www.example.com", id: id, edns: EDNS())
        return output { span in
            Reply.write(
                answer, to: query.query, message: query.bytes.span, aging: aging, limit: 1_232, into: &span)
        }
    }

    /// The order in which the addresses go out.
    private func order(_ answer: PackedAnswer, id: UInt16) throws -> [IPAddress] {
        try MessageParser.parse(reply(answer, id: id)).answers.compactMap(\.address)
    }

    /// How many of these IDs put each address first.
    private func firsts(_ count: Int, of ids: some Sequence<UInt16>) throws -> [Int] {
        let answer = try Self.packed(Answer(answers: Self.records(count)))
        var firsts = [Int](repeating: 0, count: count)
        for id in ids {
            let run = AddressRun(in: answer.body.span, answers: count)
            firsts[run?.shift(id: id) ?? 0] += 1
        }
        return firsts
    }

    @Test(arguments: [2, 3, 4, 13])
    func `each address comes first for as many IDs as any other`(count: Int) throws {
        let firsts = try firsts(count, of: 0...UInt16.max)
        #expect(firsts.allSatisfy { abs($0 - 65_536 / count) <= 1 }, "\(firsts)")
    }

    @Test(arguments: [2, 3, 4, 13])
    func `a client whose IDs are all even, or count up, has each address first as often`(count: Int) throws {
        let even = try firsts(count, of: stride(from: 0, to: UInt16.max, by: 2))
        #expect(even.allSatisfy { abs($0 - 32_768 / count) <= 1 }, "\(even)")
        let upwards = try firsts(count, of: 20_000..<20_100)
        #expect(upwards.allSatisfy { abs($0 - 100 / count) <= 3 }, "\(upwards)")
    }

    @Test(arguments: [RecordType.a, .aaaa])
    func `the addresses keep their circle, and every other byte its place`(type: RecordType) throws {
        let alias = Record(name: Self.question.name, type: .cname, ttl: 600, rdata: name("cdn.example.net").wire)
        let server = Record(name: name("example.net"), type: .ns, ttl: 20, rdata: name("ns.example.net").wire)
        let glue = Record(name: name("ns.example.net"), address: .v6(1), ttl: 3_600)
        for (aliases, others) in [([], []), ([alias], [server])] as [([Record], [Record])] {
            let addresses = Self.records(4, type, owner: aliases.isEmpty ? "www.example.com" : "cdn.example.net")
            let answer = Answer(
                answers: aliases + addresses, authorities: others, additionals: others.isEmpty ? [] : [glue])
            let (rotating, fixed) = (try Self.packed(answer), try Self.packed(answer, rotates: false))
            #expect(rotating.isRotatable)
            var seen: Set<[IPAddress]> = []
            for id in 0..<UInt16(100) {
                let message = try MessageParser.parse(reply(rotating, id: id))
                let order = message.answers.compactMap(\.address)
                let first = try #require(Self.addresses(4, type).firstIndex(of: order[0]))
                #expect(order == Array(Self.addresses(4, type)[first...] + Self.addresses(4, type)[..<first]))
                seen.insert(order)
                // Put back in their circle, they make the response that has no rotation.
                var restored = message
                restored.answers = aliases + addresses
                #expect(restored == (try MessageParser.parse(reply(fixed, id: id))))
                #expect(reply(rotating, id: id).count == reply(fixed, id: id).count)
            }
            #expect(seen.count == 4)
        }
    }

    @Test func `a rotated answer ages like any other`() throws {
        let answer = try Self.packed(Answer(answers: Self.records(5)))
        for id in 0..<UInt16(20) {
            let fresh = try MessageParser.parse(reply(answer, id: id, aging: .fresh(age: 100)))
            #expect(fresh.answers.map(\.ttl) == [200, 200, 200, 200, 200])
            let stale = try MessageParser.parse(reply(answer, id: id, aging: .stale))
            #expect(stale.answers.map(\.ttl) == [30, 30, 30, 30, 30])
        }
    }

    @Test func `without two addresses of one owner at the end of the answer section nothing can rotate`() throws {
        let addresses = Self.records(2)
        let text = Record(name: Self.question.name, type: .txt, ttl: 300, rdata: [1, 65])
        let signature = Record(
            name: Self.question.name, type: .rrsig, ttl: 300, rdata: [0, 1] + [UInt8](repeating: 0, count: 30))
        let below = Record(name: name("x.www.example.com"), address: .v4(9), ttl: 300)
        let chaos = addresses.map {
            Record(name: $0.name, type: .a, class: .chaos, ttl: 300, rdata: $0.rdata)
        }
        let short = addresses.map { Record(name: $0.name, type: .a, ttl: 300, rdata: Array($0.rdata.prefix(3))) }
        // As long as an A record: four bytes of rdata.
        let alias = Record(name: Self.question.name, type: .cname, ttl: 300, rdata: name("ab").wire)
        let cases: [[Record]] = [
            [], [addresses[0]], [text, text], addresses + [text], addresses + [signature], [below, addresses[0]],
            [addresses[0], below], chaos, short, [addresses[0], Self.records(1, .aaaa)[0]], [alias, addresses[0]],
            [alias, alias],
        ]
        for answers in cases {
            let packed = try Self.packed(Answer(answers: answers), rotates: false)
            #expect(!packed.isRotatable, "\(answers)")
        }
        // Longer than one byte of its length can say.
        let long = Record(name: Self.question.name, type: .txt, ttl: 300, rdata: [UInt8](repeating: 1, count: 300))
        #expect(try Self.packed(Answer(answers: [signature] + addresses)).isRotatable)
        #expect(try Self.packed(Answer(answers: [long] + addresses)).isRotatable)
        #expect(try Self.packed(Answer(answers: [alias] + addresses)).isRotatable)
    }

    @Test(arguments: [RecordType.a, .aaaa])
    func `every fixed byte of the records decides whether they can rotate`(type: RecordType) {
        let length = type == .a ? 4 : 16
        let record: [UInt8] =
            [0xc0, 0x0c, 0, UInt8(type.rawValue), 0, 1, 0, 0, 1, 0x2c, 0, UInt8(length)]
            + [UInt8](repeating: 7, count: length)
        let (body, size) = (record + record, record.count)
        func isRotatable(_ body: [UInt8], _ count: UInt16 = 2) -> Bool {
            PackedAnswer(responseCode: .noError, counts: .init(answer: count), body: body).isRotatable
        }
        #expect(isRotatable(body) && !isRotatable(body, 3))
        for index in body.indices {
            var changed = body
            changed[index] ^= 1
            // TTLs and addresses.
            let isFree = (6..<10).contains(index % size) || index % size >= 12
            #expect(isRotatable(changed) == isFree, "\(index)")
        }
        for (byte, isPointer) in [(0xff, true), (0xc1, true), (0xbf, false), (1, false)] as [(UInt8, Bool)] {
            var changed = body
            (changed[0], changed[size]) = (byte, byte)
            #expect(isRotatable(changed) == isPointer)
        }
        #expect(!isRotatable([0] + body))
        #expect(!isRotatable(Array(body.dropLast())))
    }

    @Test func `a response that ends within its addresses is left as it is`() throws {
        let answer = try Self.packed(Answer(answers: Self.records(2)))
        let fixed = reply(try Self.packed(Answer(answers: Self.records(2)), rotates: false), id: 1)
        let rotated = reply(answer, id: 1)
        #expect(rotated != fixed)
        // Header and question have 33 bytes, each record 16.
        for (count, expected) in [(0, fixed), (12, fixed), (20, fixed), (33, fixed), (64, fixed), (65, rotated)] {
            let bytes = output { span in
                for byte in fixed.prefix(count) { span.append(byte) }
                span.rotateAddresses(of: answer.body.span, answers: 2, aging: .fresh(age: 0))
            }
            #expect(bytes == Array(expected.prefix(count)))
        }
    }

    @Test func `an alias as long as an address stays before the addresses`() throws {
        let alias = Record(name: Self.question.name, type: .cname, ttl: 300, rdata: name("ab").wire)
        let answer = try Self.packed(Answer(answers: [alias] + Self.records(2, owner: "ab")))
        #expect(answer.body.count == 48)
        for id in 0..<UInt16(20) {
            let reply = try MessageParser.parse(reply(answer, id: id))
            #expect(reply.answers.first == alias && reply.answers.count == 3)
        }
    }

    @Test func `the root's addresses rotate, whose owner is no pointer, or stay; they are never cut`() throws {
        let root = Question(name: .root, type: .a)
        let answer = Answer(name: .root, addresses: Self.addresses(3), ttl: 300)
        var packed = try #require(PackedAnswer(answer, for: root))
        packed.rotates = packed.isRotatable
        let query = TestQuery(".", id: 40_000)
        let bytes = output { span in
            Reply.write(
                packed, to: query.query, message: query.bytes.span, aging: .fresh(age: 0), limit: 512, into: &span)
        }
        let reply = try MessageParser.parse(bytes)
        #expect(Set(reply.answers.compactMap(\.address)) == Set(Self.addresses(3)))
    }

    @Test func `a hit rotates as a miss does, and until the answer is stamped otherwise`() throws {
        let cache = MemoryCache(memory: 1 << 20)
        let answer = try Self.packed(Answer(answers: Self.records(4)))
        let key = TestQuery("www.example.com").key
        cache.store(CacheEntry(answer: answer, storedAt: at(1_000), lifetime: 300, generation: 1), for: key)
        #expect(cache.entry(for: key)?.answer == answer)
        for id in 0..<UInt16(20) {
            let query = TestQuery("www.example.com", id: id, edns: EDNS())
            #expect(cache.reply(to: query) == reply(answer, id: id))
        }
        let turned = TestQuery("www.example.com", id: 1)
        #expect(try cache.message(to: turned)?.answers.first?.address != Self.addresses(1)[0])
        cache.restamp(key, generation: 1, rotates: false)
        #expect(try cache.message(to: turned)?.answers.compactMap(\.address) == Self.addresses(4))
        cache.restamp(key, generation: 1, rotates: true)
        #expect(try cache.message(to: turned)?.answers.first?.address != Self.addresses(1)[0])
    }

    @Test func `a cut reply holds the first addresses in their order`() throws {
        let answer = try Self.packed(Answer(answers: Self.records(40)))
        for id in 0..<UInt16(20) {
            let query = TestQuery("www.example.com", id: id)
            let bytes = output { span in
                Reply.write(
                    answer, to: query.query, message: query.bytes.span, aging: .fresh(age: 0), limit: 512, into: &span)
            }
            let reply = try MessageParser.parse(bytes)
            #expect(reply.flags.contains(.truncated))
            #expect(reply.answers.compactMap(\.address) == Array(Self.addresses(40).prefix(reply.answers.count)))
            #expect(reply.answers.count > 10)
        }
    }

    @Test func `an answer that says it rotates and cannot is sent as it is`() throws {
        // Counts that fit nothing.
        for count in [0, 1, 2, 65_535] {
            let body = [UInt8](repeating: 0xc0, count: 44)
            let run = AddressRun(in: body.span, answers: count)
            #expect(run == nil)
        }
        let answer = try Self.packed(Answer(answers: Self.records(1)))
        #expect(try order(answer, id: 40_000) == Self.addresses(1))
    }
}
