import DNSWire
import Testing

@testable import DNSCache

struct StoreTests {
    let hash = KeyHash()

    private func key(_ text: String, _ type: RecordType = .a) -> [UInt8] { TestQuery(text, type).key.array }

    @Test func `entries are spread evenly over the index`() throws {
        var store = Store(bytes: 1 << 20, slots: 1_024)
        var quarters = [0, 0, 0, 0]
        for number in 0..<512 {
            let query = TestQuery("host\(number).example.com")
            let answer = try #require(PackedAnswer(Answer(), for: query.question))
            let entry = CacheEntry(answer: answer, storedAt: at(0), lifetime: 1, generation: 0)
            let hash = UInt32(truncatingIfNeeded: hash(query.key.array.span))
            let offset = number * 128
            store.block(at: offset).write(entry, key: query.key.array.span, hash: hash, size: 128, isVisited: false)
            store.insert(offset)
            let found = store.find(query.key.array.span, hash: hash)
            let slot = try #require(found)
            let expected = store.slot(of: offset, hash: hash)
            #expect(slot == expected)
            quarters[slot / 256] += 1
        }
        // 128 are expected in each; 60 fewer are six standard deviations.
        #expect(quarters.allSatisfy { $0 > 68 })
    }

    @Test func `each process has a hash of its own`() {
        #expect(hash(key("example.com").span) != KeyHash()(key("example.com").span))
        #expect(hash(key("example.com").span) == hash(key("example.com").span))
    }

    @Test func `a change of any byte changes the hash`() {
        for length in [6, 8, 15, 16, 17, 31, 32, 33, 260] {
            var bytes = (0..<length).map { UInt8($0 & 0xff) }
            let before = hash(bytes.span)
            for index in bytes.indices {
                bytes[index] ^= 1
                #expect(hash(bytes.span) != before)
                bytes[index] ^= 1
            }
            #expect(hash((bytes + [0]).span) != before)
        }
    }

    @Test func `hashes of names in a row do not meet in their low 32 bits more than chance allows`() {
        let hashes = (0..<20_000).map { UInt32(truncatingIfNeeded: hash(key("host\($0).example.com").span)) }
        // 0.05 are expected.
        #expect(Set(hashes).count > 19_995)
    }
}
