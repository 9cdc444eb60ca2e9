import DNSWire
import Testing

@testable import DNSCache

struct MemoryCacheTests {
    let cache = MemoryCache()
    let query = TestQuery("www.example.com", id: 0xbeef)

    @Test func `a stored answer comes back with the client's ID and RD`() throws {
        cache.put(checksummed("www.example.com"), for: query)
        let reply = try #require(try cache.message(to: query))
        #expect(reply.id == 0xbeef)
        #expect(reply.flags == [.response, .recursionDesired, .recursionAvailable])
        #expect(reply.answers == checksummed("www.example.com").answers)
        #expect(reply.questions == [query.question])
        #expect(reply.edns == nil)
    }

    @Test func `a question in any letter case finds the answer and gets its own spelling back`() throws {
        cache.put(checksummed("www.example.com"), for: query)
        let other = TestQuery("wWw.EXAMPLE.cOm")
        let reply = try #require(cache.reply(to: other))
        #expect(Array(reply[12..<33]) == Array(other.bytes[12..<33]))
        #expect(Array(try MessageParser.parse(reply).answers[0].name.wire) == Array(name("wWw.EXAMPLE.cOm").wire))
    }

    @Test func `bytes beside the letters are not folded`() throws {
        cache.put(checksummed("a@b"), for: TestQuery("\\064[x]"))
        #expect(cache.reply(to: TestQuery("\\096{x}")) == nil)
        #expect(cache.reply(to: TestQuery("\\064[X]")) != nil)
    }

    @Test func `the TTL counts down in whole seconds`() throws {
        cache.put(checksummed("www.example.com"), for: query, at: at(1_000))
        for (now, ttl) in [(1_000, 300), (1_001, 299), (1_299, 1)] as [(Int64, UInt32)] {
            #expect(try cache.message(to: query, at: at(now))?.answers.map(\.ttl) == [ttl])
        }
        #expect(cache.reply(to: query, at: at(1_300)) == nil)
    }

    @Test func `a clock a little behind the storing one sees a new entry at full TTL`() throws {
        cache.put(checksummed("www.example.com"), for: query, at: at(1_000))
        #expect(try cache.message(to: query, at: at(998))?.answers.map(\.ttl) == [300])
    }

    @Test func `an entry outlives the wrap of the 32-bit clock`() throws {
        cache.put(checksummed("www.example.com"), for: query, at: at(0xffff_fff0))
        #expect(try cache.message(to: query, at: at(0x1_0000_0010))?.answers.map(\.ttl) == [268])
        #expect(cache.reply(to: query, at: at(0x1_0000_0010 + 300)) == nil)
    }

    @Test func `every TTL of a chain of aliases counts down, none below zero`() throws {
        let alias = Record(name: name("www.example.com"), type: .cname, ttl: 600, rdata: name("cdn.example.net").wire)
        let addresses = (1...3).map { Record(name: name("cdn.example.net"), address: .v4($0), ttl: 60) }
        let server = Record(name: name("example.net"), type: .ns, ttl: 20, rdata: name("ns.example.net").wire)
        let glue = Record(name: name("ns.example.net"), address: .v6(1), ttl: 3_600)
        let answer = Answer(answers: [alias] + addresses, authorities: [server], additionals: [glue])
        cache.put(answer, for: query, lifetime: 60)
        let reply = try #require(try cache.message(to: query, at: at(1_050)))
        #expect(reply.answers.map(\.ttl) == [550, 10, 10, 10])
        #expect(reply.authorities.map(\.ttl) == [0])
        #expect(reply.additionals.map(\.ttl) == [3_550])
        #expect(reply.answers.map(\.rdata) == answer.answers.map(\.rdata))
        #expect(reply.additionals.map(\.name) == [name("ns.example.net")])
    }

    @Test func `an entry of another policy generation is no hit until it is restamped`() throws {
        cache.put(checksummed("www.example.com"), for: query, generation: 1)
        #expect(cache.reply(to: query, generation: 2) == nil)
        #expect(cache.entry(for: query.key)?.generation == 1)
        cache.restamp(query.key, generation: 2, rotates: false)
        #expect(cache.reply(to: query, generation: 2) != nil)
        #expect(cache.reply(to: query, generation: 1) == nil)
    }

    @Test func `type, class, DO and CD have answers of their own`() throws {
        let queries = [
            query, TestQuery("www.example.com", .aaaa), TestQuery("www.example.com", class: .chaos),
            TestQuery("www.example.com", edns: EDNS(dnssecOK: true)),
            TestQuery("www.example.com", flags: [.recursionDesired, .checkingDisabled]),
        ]
        for (number, query) in queries.enumerated() {
            cache.put(
                Answer(name: query.question.name, addresses: [.v4(UInt32(number))], ttl: 300), for: query)
        }
        for (number, query) in queries.enumerated() {
            #expect(try cache.message(to: query)?.answers.compactMap(\.address) == [.v4(UInt32(number))])
        }
        #expect(cache.statistics.entries == queries.count)
    }

    @Test func `EDNS without DO shares the answer of plain DNS, and gets an OPT record`() throws {
        cache.put(checksummed("www.example.com"), for: query)
        let reply = try #require(try cache.message(to: TestQuery("www.example.com", edns: EDNS(udpPayloadSize: 4_096))))
        #expect(reply.edns == EDNS(udpPayloadSize: 1_232))
        #expect(reply.answers.count == 1)
    }

    @Test(arguments: [false, true])
    func `an answer longer than the limit has TC, and without EDNS the records that fit`(hasEDNS: Bool) throws {
        let answer = Answer(name: name("www.example.com"), addresses: (0..<40).map { .v4($0) }, ttl: 300)
        cache.put(answer, for: query)
        #expect(try cache.message(to: query)?.answers.count == 40)
        let query = hasEDNS ? TestQuery("www.example.com", edns: EDNS(udpPayloadSize: 300)) : query
        let limit = query.query.udpLimit
        #expect(limit == 512)
        let reply = try MessageParser.parse(try #require(cache.reply(to: query, limit: limit)))
        #expect(reply.flags.contains(.truncated))
        #expect(reply.questions == [query.question])
        // 33 bytes of header and question, 16 of each record.
        #expect(reply.answers == (hasEDNS ? [] : Array(answer.answers.prefix(29))))
        #expect((reply.edns != nil) == hasEDNS)
    }

    @Test func `records of a cut answer are whole, of the answer section alone, and as old as they are`() throws {
        var answer = Answer(name: name("www.example.com"), addresses: (0..<3).map { .v4($0) }, ttl: 300)
        answer.authorities = [.negativeSOA(for: name("example.com"), ttl: 300)]
        cache.put(answer, for: query)
        let whole = try #require(cache.reply(to: query))
        for (limit, count) in [(33, 0), (48, 0), (49, 1), (64, 1), (65, 2), (81, 3), (whole.count - 1, 3)] {
            let bytes = try #require(cache.reply(to: query, at: at(1_010), limit: limit))
            let reply = try MessageParser.parse(bytes)
            #expect(bytes.count == 33 + 16 * count)
            #expect(reply.answers.map(\.ttl) == Array(repeating: 290, count: count))
            #expect(reply.authorities.isEmpty)
        }
    }

    @Test func `an answer that fits to the byte is not truncated`() throws {
        cache.put(Answer(name: name("www.example.com"), addresses: (0..<40).map { .v4($0) }, ttl: 300), for: query)
        let whole = try #require(cache.reply(to: query))
        #expect(cache.reply(to: query, limit: whole.count) == whole)
        #expect(cache.reply(to: query, capacity: whole.count) == whole)
        #expect(cache.reply(to: query, limit: whole.count - 1)?.count == whole.count - 16)
        #expect(cache.reply(to: query, capacity: whole.count - 1)?.count == whole.count - 16)
    }

    @Test func `output without room for the question gets nothing`() {
        cache.put(checksummed("www.example.com"), for: query)
        #expect(cache.reply(to: query, capacity: 32) == nil)
    }

    @Test func `a reply is appended to what the output holds`() throws {
        cache.put(checksummed("www.example.com"), for: query)
        let whole = try #require(cache.reply(to: query))
        let bytes = output { span in
            span.append(0)
            span.append(49)
            _ = cache.answer(
                query.query, cache.ticket(for: query.query, in: query.bytes.span), message: query.bytes.span,
                now: at(1_000), generation: 1, limit: 512,
                into: &span)
        }
        #expect(bytes == [0, 49] + whole)
    }

    @Test func `a negative answer retains its RCODE and its SOA counts down`() throws {
        cache.put(.negative(.nameError, name: query.question.name, ttl: 30), for: query, lifetime: 30)
        let reply = try #require(try cache.message(to: query, at: at(1_010)))
        #expect(reply.responseCode == .nameError)
        #expect(reply.answers.isEmpty)
        #expect(reply.authorities.map(\.ttl) == [20])
        #expect(reply.authorities.map(\.type) == [.soa])
    }

    @Test func `an entry comes back as it was stored`() throws {
        let answer = try #require(PackedAnswer(checksummed("www.example.com"), for: query.question))
        let entry = CacheEntry(
            answer: answer, storedAt: at(1_000), lifetime: 7, generation: 9, route: 0xbeef, source: 0xcafe,
            server: 0xfeed, isNegative: true)
        #expect(cache.store(entry, for: query.key))
        #expect(cache.entry(for: query.key) == entry)
        #expect(cache.entry(for: TestQuery("example.com").key) == nil)
    }

    @Test func `a newer answer replaces an older one of the same or another length`() throws {
        for addresses in [[1], [2], [3, 4], [5], Array(1...60)] as [[UInt32]] {
            cache.put(
                Answer(name: query.question.name, addresses: addresses.map { .v4($0) }, ttl: 300), for: query)
            #expect(try cache.message(to: query)?.answers.compactMap(\.address) == addresses.map { .v4($0) })
        }
        #expect(cache.statistics.entries == 1)
    }

    @Test func `an answer without lifetime is not stored and spares the older one`() {
        cache.put(checksummed("www.example.com"), for: query)
        #expect(!cache.put(checksummed("www.example.com", ttl: 0), for: query, lifetime: 0))
        #expect(cache.entry(for: query.key)?.lifetime == 300)
    }

    @Test func `an answer that is stored only where there is none replaces none`() throws {
        let answer = try #require(PackedAnswer(checksummed("www.example.com"), for: query.question))
        var entry = CacheEntry(answer: answer, storedAt: at(1_000), lifetime: 300, generation: 1)
        #expect(cache.storeIfAbsent(entry, for: query.key))
        entry.generation = 2
        #expect(!cache.storeIfAbsent(entry, for: query.key))
        #expect(cache.entry(for: query.key)?.generation == 1)
        let other = TestQuery("example.net")
        entry.lifetime = 0
        #expect(!cache.storeIfAbsent(entry, for: other.key))
        #expect(cache.entry(for: other.key) == nil)
        entry.lifetime = 1
        #expect(cache.storeIfAbsent(entry, for: other.key))
    }

    @Test(arguments: [
        (8 << 10, 1), (1 << 20, 1), (2 << 20 - 1, 1), (2 << 20, 2), (63 << 20, 32), (64 << 20, 64), (256 << 20, 64),
    ])
    func `there is a shard for each whole megabyte, up to 64, and a power of two of them`(memory: Int, shards: Int) {
        let cache = MemoryCache(memory: memory)
        #expect(cache.partCount == shards)
        #expect(cache.statistics.limit == memory)
    }

    @Test func `by default it takes 64 MiB`() { #expect(cache.statistics.limit == 64 << 20) }

    @Test func `removed entries are gone, and others stay`() {
        let other = TestQuery("example.net")
        cache.put(checksummed("www.example.com"), for: query)
        cache.put(checksummed("example.net"), for: other)
        cache.remove(query.key)
        #expect(cache.reply(to: query) == nil)
        #expect(cache.reply(to: other) != nil)
        cache.removeAll()
        #expect(cache.reply(to: other) == nil)
        #expect(cache.statistics.entries == 0)
    }

    @Test func `hits and misses are counted`() {
        cache.put(checksummed("www.example.com"), for: query)
        _ = cache.reply(to: query)
        _ = cache.reply(to: query)
        _ = cache.reply(to: TestQuery("example.net"))
        #expect(cache.statistics.hits == 2)
        #expect(cache.statistics.misses == 1)
    }

    @Test func `the root and the longest name are names like any other`() throws {
        for text in [".", "a", "ab", "abc", longestName] {
            let query = TestQuery(text)
            #expect(query.query.fault == .noError)
            cache.put(checksummed(text), for: query)
            #expect(try cache.message(to: query)?.answers == checksummed(text).answers)
        }
        #expect(cache.reply(to: TestQuery(".", .aaaa)) == nil)
        #expect(cache.statistics.entries == 5)
    }

    @Test func `an answer of nearly 65,535 bytes is cached and sent whole`() throws {
        let texts = (0..<255).map { number in
            Record(
                name: query.question.name, type: .txt, ttl: 300,
                rdata: [243] + Array(repeating: UInt8(number), count: 243))
        }
        cache.put(Answer(answers: texts), for: query)
        let reply = try #require(cache.reply(to: query))
        #expect(reply.count > 65_000)
        #expect(try MessageParser.parse(reply).answers == texts)
    }

    @Test func `an answer that would fill more than an eighth of its shard is refused, and the older one goes`() {
        let small = MemoryCache(memory: 64 << 10)
        small.put(checksummed("www.example.com"), for: query)
        let large = Answer(name: query.question.name, addresses: (0..<600).map { .v4($0) }, ttl: 300)
        #expect(!small.put(large, for: query))
        #expect(small.entry(for: query.key) == nil)
    }

    @Test(arguments: [(556, false), (560, true)])
    func `the longest answer is cached from 560 KiB on`(kibibytes: Int, isCached: Bool) throws {
        // Of all answers that fit into a message, the one with the shortest records takes most memory.
        let record = Record(name: .root, type: RecordType(rawValue: 65_280), ttl: 60, rdata: [])
        let query = TestQuery(".")
        func answer(_ count: Int) -> Answer { Answer(answers: Array(repeating: record, count: count)) }
        try #require(PackedAnswer(answer(5_955), for: query.question) == nil)
        #expect(MemoryCache(memory: kibibytes << 10).put(answer(5_954), for: query) == isCached)
    }

    @Test func `the longest lifetime is cached to the end`() {
        cache.put(checksummed("www.example.com"), for: query, lifetime: 0x7fff_ffff)
        #expect(cache.reply(to: query, at: at(1_000 + 0x7fff_fffe)) != nil)
        #expect(cache.reply(to: query, at: at(1_000 + 0x7fff_ffff)) == nil)
    }

    /// A name of `length` bytes in wire form, with labels of 63 bytes as far as possible.
    private func wireName(ofLength length: Int) -> [UInt8] {
        var wire: [UInt8] = []
        while wire.count < length - 1 {
            // No label may have 0 bytes.
            let room = length - 2 - wire.count
            let label = room == 64 ? 62 : min(63, room)
            wire.append(UInt8(label))
            for _ in 0..<label { wire.append(UInt8(ascii: "a") + UInt8(wire.count % 26)) }
        }
        return wire + [0]
    }

    private func query(_ wire: [UInt8]) -> TestQuery {
        TestQuery(bytes: [0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0] + wire + [0, 1, 0, 1])
    }

    @Test(arguments: [1, 3, 4, 5, 6, 7, 8, 9, 10, 15, 16, 17, 18, 23, 24, 25, 63, 64, 65, 66, 127, 128, 254, 255])
    func `a name of any length is found in any letter case, and no other name instead`(length: Int) throws {
        let wire = wireName(ofLength: length)
        #expect(wire.count == length)
        cache.put(Answer(), for: query(wire))
        #expect(cache.reply(to: query(wire)) != nil)
        #expect(cache.reply(to: query(wire.map { (0x61...0x7a).contains($0) ? $0 - 32 : $0 })) != nil)
        for index in wire.indices where (0x61...0x7a).contains(wire[index]) {
            var other = wire
            other[index] -= 32
            #expect(cache.reply(to: query(other)) != nil)
            for byte in [other[index] ^ 1, wire[index] ^ 1, wire[index] | 0x80, other[index] ^ 0x40] {
                other[index] = byte
                #expect(cache.reply(to: query(other)) == nil)
            }
        }
    }
}
