/// The positions of blocks of various sizes in a ring of memory: first in, first out, each block contiguous.
///
/// Only arithmetic on byte offsets; `Shard` manages the blocks themselves. The blocks fill either `tail..<head`, or,
/// when wrapped, `tail..<end` and then `start..<head`.
struct Ring {
    /// Offset at which the ring's memory begins.
    let start: Int
    /// The greatest capacity in bytes.
    let maximum: Int
    /// The most bytes in use for now.
    private(set) var capacity: Int
    /// Offset of the next block.
    private(set) var head: Int
    /// Offset of the oldest block.
    private(set) var tail: Int
    /// Offset at which the blocks of the upper part end while wrapped.
    private(set) var end: Int
    private(set) var isWrapped = false
    /// Bytes of the blocks with live entries, maintained by its user; the other blocks were removed or replaced.
    var liveBytes = 0

    init(start: Int = 0, capacity: Int, maximum: Int) {
        self.start = start
        self.maximum = maximum
        self.capacity = min(capacity, maximum)
        head = start
        tail = start
        end = start
    }

    var isEmpty: Bool { !isWrapped && head == tail }
    var canGrow: Bool { capacity < maximum }

    /// Allocates `size` bytes at the head; nil when the ring must first grow, wrap, or remove older blocks.
    mutating func push(_ size: Int) -> Int? {
        if isEmpty {
            head = start
            tail = start
        }
        guard (isWrapped ? tail : start + capacity) - head >= size else { return nil }
        let offset = head
        head += size
        return offset
    }

    /// Removes the oldest block, which has `size` bytes; there must be one.
    mutating func pop(_ size: Int) {
        tail += size
        if isWrapped, tail == end {
            tail = start
            isWrapped = false
        }
    }

    /// Continues at the start of the memory. Not while wrapped.
    mutating func wrap() {
        end = head
        head = start
        isWrapped = true
    }

    /// Doubles the capacity, or more so that `size` bytes fit, up to the maximum. Not while wrapped.
    mutating func grow(by size: Int) {
        capacity = min(maximum, max(capacity * 2, capacity + size * 2))
    }

    mutating func removeAll() { self = Ring(start: start, capacity: capacity, maximum: maximum) }

    /// The offset of the block after the one at `offset`, from old to new; nil after the newest.
    func next(after offset: Int, size: Int) -> Int? {
        var next = offset + size
        if isWrapped, offset >= tail, next == end { next = start }
        return next == head ? nil : next
    }
}
