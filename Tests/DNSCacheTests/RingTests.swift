import Testing

@testable import DNSCache

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
