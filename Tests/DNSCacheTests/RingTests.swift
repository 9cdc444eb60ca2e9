import Testing

@testable import DNSCache

struct RingTests {
    @Test func `blocks follow each other until the end, then wrap to what was given up`() {
        var ring = Ring(capacity: 100, maximum: 100)
        #expect(ring.push(40) == 0)
        #expect(ring.push(40) == 40)
        #expect(ring.push(40) == nil)
        ring.wrap()
        #expect(ring.push(40) == nil)
        ring.pop(40)
        #expect(ring.push(40) == 0)
        ring.pop(40)
        #expect(!ring.isWrapped)
        #expect(ring.push(60) == 40)
    }

    @Test func `a ring that does not begin at zero stays in its own memory`() {
        var ring = Ring(start: 1_000, capacity: 100, maximum: 100)
        #expect(ring.push(60) == 1_000)
        #expect(ring.push(60) == nil)
        ring.wrap()
        ring.pop(60)
        #expect(ring.isEmpty)
        #expect(ring.push(100) == 1_000)
    }

    @Test(arguments: [(4, 32), (8, 32), (9, 34), (40, 96), (492, 1_000), (493, 1_000)])
    func `it doubles, or grows by twice of what must fit, up to its maximum`(size: Int, capacity: Int) {
        var ring = Ring(capacity: 16, maximum: 1_000)
        ring.grow(by: size)
        #expect(ring.capacity == capacity)
    }

    @Test func `it never grows past its maximum`() {
        var ring = Ring(capacity: 16, maximum: 100)
        ring.grow(by: 80)
        #expect(ring.capacity == 100)
        #expect(!ring.canGrow)
    }

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
            #expect(block.lowerBound >= 24 && block.upperBound <= 24 + ring.capacity)
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
