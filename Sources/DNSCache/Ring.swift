/// Where blocks of various sizes lie in a ring of memory: first in, first out, each block in one piece.
///
/// Pure arithmetic on byte offsets; the blocks themselves are the business of `Shard`. Either the blocks fill
/// `tail..<head`, or, wrapped, `tail..<end` and then `start..<head`.
struct Ring {
    /// Where the ring's memory begins.
    let start: Int
    /// Bytes to which the capacity may grow.
    let maximum: Int
    /// Bytes in use at most for now.
    private(set) var capacity: Int
    /// Where the next block goes.
    private(set) var head: Int
    /// Where the oldest block begins.
    private(set) var tail: Int
    /// Where the blocks of the upper part end while wrapped.
    private(set) var end: Int
    private(set) var isWrapped = false
    /// Bytes of the blocks that hold entries, as its user counts them; others were removed or replaced.
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

    /// Takes `size` bytes at the head; nil when the ring must first grow, wrap, or give up older blocks.
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

    /// Gives up the oldest block, whose size is `size`; there must be one.
    mutating func pop(_ size: Int) {
        tail += size
        if isWrapped, tail == end {
            tail = start
            isWrapped = false
        }
    }

    /// Goes on at the bottom. Not while wrapped.
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
