import DNSWire
import Testing

@testable import DNSCache

struct StoreTests {
    let hash = KeyHash()

    private func hash(_ query: TestQuery, by hash: KeyHash) -> UInt64 {
        hash(query.question.name.wire.span, KeyTail(query.query))
    }

    @Test func `entries are spread evenly over the index`() throws {
        var store = Store(bytes: 1 << 20, slots: 1_024...1_024)
        var quarters = [0, 0, 0, 0]
        for number in 0..<512 {
            let query = TestQuery("host\(number).example.com")
            let answer = try #require(PackedAnswer(Answer(), for: query.question))
            let entry = CacheEntry(answer: answer, storedAt: at(0), lifetime: 1, generation: 0)
            let hash = UInt32(truncatingIfNeeded: hash(query, by: hash))
            let name = query.question.name.wire
            let tail = KeyTail(query.query)
            let offset = number * 128
            store.block(at: offset).write(
                entry, name: name.span, tail: tail, hash: hash, size: 128, isVisited: false)
            store.insert(offset)
            let found = store.find(name.span, tail, hash: hash)
            let slot = try #require(found)
            let expected = store.slot(of: offset, hash: hash)
            #expect(slot == expected)
            quarters[slot / 256] += 1
        }
        // 128 are expected in each; 60 fewer are six standard deviations.
        #expect(quarters.allSatisfy { $0 > 68 })
    }

    @Test(arguments: 1...16)
    func `an entry takes no more than its parts, up to the next whole granule`(nameCount: Int) throws {
        let question = Question(name: name("www.example.com"), type: .a)
        for addresses in [[], [IPAddress.v4(1)], [.v4(1), .v4(2)]] as [[IPAddress]] {
            let answer = try #require(
                PackedAnswer(Answer(name: question.name, addresses: addresses, ttl: 300), for: question))
            let parts = MemoryLayout<EntryHeader>.size + nameCount + KeyTail.count + answer.body.count
            let size = try #require(Block.size(nameCount: nameCount, answer: answer))
            #expect(size % Block.granule == 0 && (parts..<parts + Block.granule).contains(size))
        }
    }

    private func entry() throws -> CacheEntry {
        let question = Question(name: name("www.example.com"), type: .a)
        let answer = try #require(
            PackedAnswer(Answer(name: question.name, addresses: [.v4(1)], ttl: 300), for: question))
        return CacheEntry(answer: answer, storedAt: at(0), lifetime: 1, generation: 0)
    }

    @Test(arguments: [1, 2, 7, 8, 9, 15, 16, 17, 24, 255])
    func `a block is that of its own key alone, in any letter case`(length: Int) throws {
        let store = Store(bytes: 1 << 10, slots: 16...16)
        let tail = KeyTail(TestQuery("example.com").query)
        let key = (0..<length).map { UInt8(ascii: "a") + UInt8($0 % 26) }
        let entry = try entry()
        let size = try #require(Block.size(nameCount: length, answer: entry.answer))
        let block = store.block(at: 0)
        block.write(entry, name: key.span, tail: tail, hash: 7, size: size, isVisited: false)
        func matches(_ name: [UInt8], _ tail: KeyTail) -> Bool { block.matches(name.span, tail) }
        #expect(matches(key, tail))
        #expect(matches(key.map { $0 - 32 }, tail))
        for index in key.indices {
            for bit in [1, 0x40, 0x80] as [UInt8] {
                var other = key
                other[index] ^= bit
                #expect(!matches(other, tail))
            }
        }
        #expect(!matches(key + [97], tail))
        #expect(!matches(Array(key.dropLast()), tail))
        for query in [
            TestQuery("example.com", .aaaa), TestQuery("example.com", class: .chaos),
            TestQuery("example.com", edns: EDNS(dnssecOK: true)),
        ] {
            #expect(!matches(key, KeyTail(query.query)))
        }
        let slots = store.slotCount
        #expect(slots == 16)
    }

    @Test func `a block that is too short for its parts gives nothing`() throws {
        let store = Store(bytes: 1 << 10, slots: 16...16)
        // With a name of 21 bytes the parts fill the block to its end.
        let query = TestQuery("wwwwwww.example.com")
        let (entry, key) = (try entry(), query.question.name.wire)
        let size = try #require(Block.size(nameCount: key.count, answer: entry.answer))
        #expect(size == MemoryLayout<EntryHeader>.size + key.count + KeyTail.count + entry.answer.body.count)
        let block = store.block(at: 0)
        block.write(entry, name: key.span, tail: KeyTail(query.query), hash: 7, size: size, isVisited: false)
        func reply() -> [UInt8] {
            output { span in
                _ = block.write(Reply.Echo(query.query), message: query.bytes.span, age: 0, limit: 512, into: &span)
            }
        }
        let header = block.header
        let changes: [(inout EntryHeader) -> Void] = [
            { $0.keyCount += 1 }, { $0.bodyCount += 1 }, { $0.granules -= 1 },
        ]
        for change in changes {
            #expect(block.entry == entry)
            #expect(block.key.count == key.count + KeyTail.count)
            #expect(!reply().isEmpty)
            block.update(change)
            #expect(block.entry == nil)
            #expect(block.key.isEmpty)
            #expect(reply().isEmpty)
            block.update { $0 = header }
        }
        let slots = store.slotCount
        #expect(slots == 16)
    }

    @Test(arguments: 1...10)
    func `whatever goes in and out, all entries in the index are found, and no others`(seed: Int) throws {
        var random = Random(state: UInt64(seed))
        var store = Store(bytes: 1 << 12, slots: 16...16)
        let (tail, entry) = (KeyTail(TestQuery("example.com").query), try entry())
        let names = (0..<11).map { [UInt8(ascii: "a") + UInt8($0)] }
        // Several begin at the same slot, and their runs go on over the end of the index.
        let hashes = names.indices.map { number in
            [0, 5, 14, 15][Int(random.next() % 4)] << 28 | UInt32(number)
        }
        for (number, name) in names.enumerated() {
            store.block(at: number * 128).write(
                entry, name: name.span, tail: tail, hash: hashes[number], size: 128, isVisited: false)
        }
        var present: Set<Int> = []
        for _ in 0..<300 {
            let number = Int(random.next() % UInt64(names.count))
            let name = names[number]
            if let slot = store.find(name.span, tail, hash: hashes[number]) {
                store.remove(slot)
                present.remove(number)
            } else {
                store.insert(number * 128)
                present.insert(number)
            }
            var found: Set<Int> = []
            for (number, name) in names.enumerated() {
                if store.find(name.span, tail, hash: hashes[number]) != nil { found.insert(number) }
            }
            #expect(found == present)
        }
    }

    @Test func `each process has a hash of its own`() {
        let query = TestQuery("example.com")
        #expect(hash(query, by: hash) != hash(query, by: KeyHash()))
        #expect(hash(query, by: hash) == hash(query, by: hash))
    }

    @Test func `a change of any byte changes the hash`() {
        let tail = KeyTail(TestQuery("example.com").query)
        for length in [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 255] {
            var bytes = (0..<length).map { UInt8($0 & 0x3f) }
            let before = hash(bytes.span, tail)
            for index in bytes.indices {
                bytes[index] ^= 1
                #expect(hash(bytes.span, tail) != before)
                bytes[index] ^= 1
            }
            #expect(hash((bytes + [0]).span, tail) != before)
        }
    }

    @Test func `type, class, DO and CD each change the hash`() {
        let edns = EDNS(dnssecOK: true)
        let queries = [
            TestQuery("example.com"), TestQuery("example.com", .aaaa), TestQuery("example.com", class: .chaos),
            TestQuery("example.com", flags: .checkingDisabled), TestQuery("example.com", edns: edns),
            TestQuery("example.com", flags: .checkingDisabled, edns: edns),
        ]
        #expect(Set(queries.map { hash($0, by: hash) }).count == queries.count)
    }

    @Test func `hashes of names in a row do not meet in their low 32 bits more than chance allows`() {
        let hashes = (0..<20_000).map {
            UInt32(truncatingIfNeeded: hash(TestQuery("host\($0).example.com"), by: hash))
        }
        // 0.05 are expected.
        #expect(Set(hashes).count > 19_995)
    }
}

struct RingTests {
    @Test(arguments: 1...20) func `no two blocks ever overlap, and they come out in the order they went in`(seed: Int) {
        var random = Random(state: UInt64(seed))
        var ring = Ring(start: 24, capacity: 64, maximum: 1_000)
        var blocks: [Range<Int>] = []
        for _ in 0..<5_000 {
            let size = 8 + Int(random.next() % 60)
            var offset = ring.push(size)
            while offset == nil {
                if ring.isWrapped {
                    #expect(ring.tail == blocks[0].lowerBound)
                    ring.pop(blocks.removeFirst().count)
                } else if ring.canGrow, random.next() % 4 == 0 {
                    ring.grow(by: size)
                } else if ring.isEmpty {
                    ring.grow(by: size)
                } else {
                    ring.wrap()
                }
                offset = ring.push(size)
            }
            let block = (offset ?? 0)..<((offset ?? 0) + size)
            #expect(block.lowerBound >= 24 && block.upperBound <= 24 + ring.capacity && ring.capacity <= 1_000)
            #expect(!blocks.contains { $0.overlaps(block) })
            blocks.append(block)
            var walked: [Int] = []
            var next: Int? = ring.tail
            for block in blocks {
                if let offset = next { walked.append(offset) }
                next = next.flatMap { ring.next(after: $0, size: block.count) }
            }
            #expect(walked == blocks.map(\.lowerBound))
            #expect(next == nil)
        }
    }
}
