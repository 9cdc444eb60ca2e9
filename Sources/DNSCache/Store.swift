import DNSWire
import Synchronization

/// The memory of one shard: blocks in a reserved piece of memory, and the index that finds them by key.
///
/// With `SlotTable`, `Block`, `Guarded`, `KeyHash` and `ReplyOutput.swift` it has all unsafe code of the target. It is
/// not `Sendable`: a shard's lock guards it.
@safe
struct Store: ~Copyable {
    /// Reserved in full; untouched pages cost nothing.
    let memory: UnsafeMutableRawPointer
    private let bytes: Int
    /// Open addressing with linear probing.
    private(set) var index: SlotTable

    /// The index has so many slots, at first and at most; `older` is that of the store that this one replaces.
    init(bytes: Int, slots: ClosedRange<Int>, replacing older: consuming SlotTable = SlotTable()) {
        self.bytes = bytes
        unsafe memory = .allocate(byteCount: bytes, alignment: Block.granule)
        older.restart(count: slots.lowerBound, capacity: slots.upperBound)
        index = older
    }

    deinit { unsafe memory.deallocate() }

    var slotCount: Int { index.count }

    /// Removes the index, to give it to the store that replaces this one: nothing can be found here any more.
    mutating func takeIndex() -> SlotTable {
        var index = SlotTable()
        swap(&self.index, &index)
        return index
    }

    /// The slot of the entry for a key.
    @inline(__always)
    func find(_ name: Span<UInt8>, _ tail: KeyTail, hash: UInt32) -> Int? {
        let tag = Slot.tag(ofHash: hash)
        var slot = home(hash)
        while true {
            let value = index[slot]
            if value == 0 { return nil }
            if Slot.tag(value) == tag, block(at: Slot.offset(value)).matches(name, tail) { return slot }
            slot = following(slot)
        }
    }

    /// Whether `slot` refers to a block.
    func isUsed(_ slot: Int) -> Bool { index[slot] != 0 }

    /// The block to which `slot` refers; the slot must not be empty.
    @inline(__always)
    func block(inSlot slot: Int) -> Block { block(at: offset(inSlot: slot)) }

    /// The offset of the block to which `slot` refers; the slot must not be empty.
    @inline(__always)
    func offset(inSlot slot: Int) -> Int { Slot.offset(index[slot]) }

    @inline(__always)
    func block(at offset: Int) -> Block { unsafe Block(memory + offset) }

    /// The slot that refers to the block at `offset`; there must be one.
    func slot(of offset: Int, hash: UInt32) -> Int {
        let value = Slot.make(offset: offset, hash: hash)
        var slot = home(hash)
        while index[slot] != value { slot = following(slot) }
        return slot
    }

    /// Makes a free slot refer to the block at `offset`.
    mutating func insert(_ offset: Int) {
        let hash = block(at: offset).header.hash
        var slot = home(hash)
        while index[slot] != 0 { slot = following(slot) }
        index[slot] = Slot.make(offset: offset, hash: hash)
    }

    /// Moves a block's bytes, which may overlap, and updates its slot. Both ranges must be within the memory, else
    /// nothing is done.
    mutating func move(_ slot: Int, from offset: Int, to target: Int) {
        let block = block(at: offset)
        let size = block.size
        guard min(offset, target) >= 0, max(offset, target) <= bytes - size else { return }
        let value = Slot.make(offset: target, hash: block.header.hash)
        unsafe (memory + target).copyMemory(from: memory + offset, byteCount: size)
        index[slot] = value
    }

    /// Empties a slot. Later ones of its run move up, so that no probe ends too early.
    mutating func remove(_ slot: Int) {
        var hole = slot
        var at = following(slot)
        while index[at] != 0 {
            let home = home(block(inSlot: at).header.hash)
            let isAfterHole = hole < at ? (hole < home && home <= at) : (hole < home || home <= at)
            if !isAfterHole {
                index[hole] = index[at]
                hole = at
            }
            at = following(at)
        }
        index[hole] = 0
    }

    mutating func removeAll() { index.removeAll() }

    /// Changes the number of slots of the index; it must exceed the number of entries, and not the most slots.
    mutating func resizeIndex(to slots: Int) {
        var values: [UInt32] = []
        values.append(addingCapacity: slotCount) { output in
            for slot in 0..<slotCount where isUsed(slot) { output.append(index[slot]) }
        }
        index.restart(count: slots)
        for value in values { insert(Slot.offset(value)) }
    }

    @inline(__always)
    private func home(_ hash: UInt32) -> Int { index.home(hash) }

    @inline(__always)
    private func following(_ slot: Int) -> Int { slot &+ 1 == index.count ? 0 : slot &+ 1 }
}

/// The slots of a shard's index: changed under the shard's lock, and read without it as a hint.
///
/// Memory that once was a table stays readable until the last of its successors ends. So a thread without the lock may
/// read a slot, as long as it does nothing with the value but fetch memory ahead, whether it is still true or not.
@safe
struct SlotTable: ~Copyable {
    typealias Word = Atomic<UInt32>

    /// The number of slots, and behind it the slots; see `Slot`.
    private(set) var words: UnsafeMutablePointer<Word>
    private(set) var count = 0
    /// The most slots. Those that were never in use are not touched, and cost nothing.
    private var capacity: Int
    /// How many slots have been in use; those beyond `count` are empty.
    private var initialized = 0
    /// Tables too small for what came after them. Each is less than half as large as the next, so all of them together
    /// are smaller than the present one.
    private var outgrown: [UnsafeMutablePointer<Word>] = unsafe []

    /// A table without slots, and without room for any.
    init() {
        capacity = 0
        unsafe words = Self.allocate(capacity: 0)
    }

    deinit {
        unsafe words.deallocate()
        unsafe outgrown.forEach { unsafe $0.deallocate() }
    }

    @inline(__always)
    subscript(slot: Int) -> UInt32 {
        get { unsafe words[slot &+ 1].load(ordering: .relaxed) }
        nonmutating set { unsafe words[slot &+ 1].store(newValue, ordering: .relaxed) }
    }

    /// The slot at which probing for a hash begins.
    @inline(__always)
    func home(_ hash: UInt32) -> Int { Self.home(hash, of: UInt32(truncatingIfNeeded: count)) }

    @inline(__always)
    private static func home(_ hash: UInt32, of count: UInt32) -> Int {
        Int(truncatingIfNeeded: (UInt64(hash) &* UInt64(count)) &>> 32)
    }

    /// Where the slot stands at which probing for a hash begins, in what is or was the table, which has not ended, nor its
    /// successor; for any thread.
    @unsafe
    @inline(__always)
    static func hint(_ hash: UInt32, in words: UnsafeMutablePointer<Word>) -> UnsafeMutablePointer<Word> {
        // Acquired, so that as many slots as it says have been initialized.
        unsafe words + 1 + home(hash, of: words.pointee.load(ordering: .acquiring))
    }

    /// Empties all slots.
    func removeAll() {
        for slot in 0..<count { self[slot] = 0 }
    }

    /// Empties all slots, and changes their number: to what there is room for at most.
    mutating func restart(count: Int) {
        let count = min(count, capacity)
        removeAll()
        for slot in initialized..<max(initialized, count) { unsafe (words + 1 + slot).initialize(to: Word(0)) }
        initialized = max(initialized, count)
        self.count = count
        unsafe words.pointee.store(UInt32(truncatingIfNeeded: count), ordering: .releasing)
    }

    /// Empties all slots, and makes room for `capacity` of them: in other memory if they are more than ever before.
    mutating func restart(count: Int, capacity: Int) {
        if capacity > self.capacity {
            unsafe outgrown.append(words)
            self.capacity = max(capacity, self.capacity * 2 + 1)
            unsafe words = Self.allocate(capacity: self.capacity)
            (self.count, initialized) = (0, 0)
        }
        restart(count: count)
    }

    private static func allocate(capacity: Int) -> UnsafeMutablePointer<Word> {
        let words = UnsafeMutablePointer<Word>.allocate(capacity: capacity + 1)
        unsafe words.initialize(to: Word(0))
        return unsafe words
    }
}

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

    /// Whether live entries take more than some eighths of the bytes in use, with one more of `size` bytes.
    func isFilled(beyond eighths: Int, with size: Int) -> Bool { liveBytes + size > capacity / 8 * eighths }

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
