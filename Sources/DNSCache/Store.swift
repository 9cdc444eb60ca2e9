import DNSWire

/// The memory of one shard: blocks in a reserved piece of memory, and the index that finds them by key.
///
/// With `SlotTable`, `Block`, `Guarded`, `KeyHash` and `OutputSpan+Reply.swift` it has all unsafe code of the target. It is
/// not `Sendable`: a shard's lock guards it.
@safe
struct Store: ~Copyable {
    /// Reserved in full; untouched pages cost nothing.
    let memory: UnsafeMutableRawPointer
    private let bytes: Int
    /// Open addressing with linear probing.
    private(set) var index: SlotTable

    /// - Parameters:
    ///   - slots: of the index, at first and at most.
    ///   - older: the index of the store that this one replaces, whose entries it no longer needs.
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

    /// The block at an offset at which there is one.
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
