import CPrefetch
import DNSWire

/// The memory of one shard: blocks in a reserved piece of memory, and the index that finds them by key.
///
/// With `Block`, `Guarded`, `KeyHash` and `OutputSpan+Reply.swift` it has all unsafe code of the target. It is not
/// `Sendable`: a shard's lock guards it.
@safe
struct Store: ~Copyable {
    /// Reserved in full; untouched pages cost nothing.
    private let memory: UnsafeMutableRawPointer
    private let bytes: Int
    /// Open addressing with linear probing; see `Slot`.
    private var index: UnsafeMutableBufferPointer<UInt32>

    init(bytes: Int, slots: Int) {
        self.bytes = bytes
        unsafe memory = .allocate(byteCount: bytes, alignment: Block.granule)
        unsafe index = .allocate(capacity: slots)
        unsafe index.initialize(repeating: 0)
    }

    deinit {
        unsafe memory.deallocate()
        unsafe index.deallocate()
    }

    var slotCount: Int { unsafe index.count }

    /// The slot of the entry for a key.
    @inline(__always)
    func find(_ name: Span<UInt8>, _ tail: KeyTail, hash: UInt32) -> Int? {
        let tag = Slot.tag(ofHash: hash)
        var slot = home(hash)
        while true {
            let value = unsafe index[slot]
            if value == 0 { return nil }
            if Slot.tag(value) == tag, block(at: Slot.offset(value)).matches(name, tail) { return slot }
            slot = following(slot)
        }
    }

    /// Warms the CPU's cache with the memory in which `find` will look for a hash, without waiting for it.
    @inline(__always)
    func prefetch(hash: UInt32) {
        let value = unsafe index[home(hash)]
        guard value != 0 else { return }
        let block = unsafe memory + Slot.offset(value)
        unsafe cprefetch(block)
        // Most entries are longer than one cache line.
        unsafe cprefetch(block + 64)
    }

    /// Whether `slot` refers to a block.
    func isUsed(_ slot: Int) -> Bool { unsafe index[slot] != 0 }

    /// The block to which `slot` refers; the slot must not be empty.
    @inline(__always)
    func block(inSlot slot: Int) -> Block { block(at: offset(inSlot: slot)) }

    /// The offset of the block to which `slot` refers; the slot must not be empty.
    @inline(__always)
    func offset(inSlot slot: Int) -> Int { unsafe Slot.offset(index[slot]) }

    /// The block at an offset at which there is one.
    @inline(__always)
    func block(at offset: Int) -> Block { unsafe Block(memory + offset) }

    /// The slot that refers to the block at `offset`; there must be one.
    func slot(of offset: Int, hash: UInt32) -> Int {
        let value = Slot.make(offset: offset, hash: hash)
        var slot = home(hash)
        while unsafe index[slot] != value { slot = following(slot) }
        return slot
    }

    /// Makes a free slot refer to the block at `offset`.
    mutating func insert(_ offset: Int) {
        let hash = block(at: offset).header.hash
        var slot = home(hash)
        while unsafe index[slot] != 0 { slot = following(slot) }
        unsafe index[slot] = Slot.make(offset: offset, hash: hash)
    }

    /// Moves a block's bytes, which may overlap, and updates its slot. Both ranges must be within the memory, else
    /// nothing is done.
    mutating func move(_ slot: Int, from offset: Int, to target: Int) {
        let block = block(at: offset)
        let size = block.size
        guard min(offset, target) >= 0, max(offset, target) <= bytes - size else { return }
        let value = Slot.make(offset: target, hash: block.header.hash)
        unsafe (memory + target).copyMemory(from: memory + offset, byteCount: size)
        unsafe index[slot] = value
    }

    /// Empties a slot. Later ones of its run move up, so that no probe ends too early.
    mutating func remove(_ slot: Int) {
        var hole = slot
        var at = following(slot)
        while unsafe index[at] != 0 {
            let home = home(block(inSlot: at).header.hash)
            let isAfterHole = hole < at ? (hole < home && home <= at) : (hole < home || home <= at)
            if !isAfterHole {
                unsafe index[hole] = index[at]
                hole = at
            }
            at = following(at)
        }
        unsafe index[hole] = 0
    }

    mutating func removeAll() { unsafe index.update(repeating: 0) }

    /// Changes the number of slots of the index; it must exceed the number of entries.
    mutating func resizeIndex(to slots: Int) {
        let old = unsafe index
        unsafe index = .allocate(capacity: slots)
        unsafe index.initialize(repeating: 0)
        for slot in old.indices where unsafe old[slot] != 0 { unsafe insert(Slot.offset(old[slot])) }
        unsafe old.deallocate()
    }

    /// The slot at which probing for a hash begins.
    @inline(__always)
    private func home(_ hash: UInt32) -> Int {
        unsafe Int(truncatingIfNeeded: (UInt64(hash) &* UInt64(index.count)) &>> 32)
    }

    @inline(__always)
    private func following(_ slot: Int) -> Int { unsafe slot &+ 1 == index.count ? 0 : slot &+ 1 }
}
