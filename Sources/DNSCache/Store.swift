import DNSWire
import Scheduling

/// The memory of one shard: blocks in a reserved piece of memory, and the index that finds them by key.
///
/// This file holds all unsafe code of the target: hash, look-up, and the bytes of a hit. Nothing here is `Sendable`: a
/// shard's lock guards it.
@safe
struct Store: ~Copyable {
    /// Reserved in full; untouched pages cost nothing.
    private let memory: UnsafeMutableRawPointer
    /// Open addressing with linear probing; see `Slot`.
    private var index: UnsafeMutableBufferPointer<UInt32>

    init(bytes: Int, slots: Int) {
        unsafe memory = .allocate(byteCount: bytes, alignment: Block.granule)
        unsafe index = .allocate(capacity: slots)
        unsafe index.initialize(repeating: 0)
    }

    deinit {
        unsafe memory.deallocate()
        unsafe index.deallocate()
    }

    var slotCount: Int { unsafe index.count }

    /// The slot of the entry for `key`.
    @inline(__always)
    func find(_ key: Span<UInt8>, hash: UInt32) -> Int? {
        let tag = Slot.tag(ofHash: hash)
        var slot = home(hash)
        while true {
            let value = unsafe index[slot]
            if value == 0 { return nil }
            if Slot.tag(value) == tag, block(at: Slot.offset(value)).matches(key) { return slot }
            slot = following(slot)
        }
    }

    /// The block that `slot` leads to; it must not be empty.
    @inline(__always)
    func block(inSlot slot: Int) -> Block { unsafe block(at: Slot.offset(index[slot])) }

    /// The block at an offset where there is one.
    @inline(__always)
    func block(at offset: Int) -> Block { unsafe Block(memory + offset) }

    /// The slot that leads to the block at `offset`; there must be one.
    func slot(of offset: Int, hash: UInt32) -> Int {
        let value = Slot.make(offset: offset, hash: hash)
        var slot = home(hash)
        while unsafe index[slot] != value { slot = following(slot) }
        return slot
    }

    /// Leads a free slot to the block at `offset`.
    mutating func insert(_ offset: Int) {
        let hash = block(at: offset).hash
        var slot = home(hash)
        while unsafe index[slot] != 0 { slot = following(slot) }
        unsafe index[slot] = Slot.make(offset: offset, hash: hash)
    }

    /// Moves a block's bytes, which may overlap, and leads its slot to the new place.
    mutating func move(_ slot: Int, from offset: Int, to target: Int) {
        let block = block(at: offset)
        let value = Slot.make(offset: target, hash: block.hash)
        unsafe (memory + target).copyMemory(from: memory + offset, byteCount: block.size)
        unsafe index[slot] = value
    }

    /// Empties a slot. Later ones of its run move up, so that no probe ends too early.
    mutating func remove(_ slot: Int) {
        var hole = slot
        var at = following(slot)
        while unsafe index[at] != 0 {
            let home = home(block(inSlot: at).hash)
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

    /// Gives the index another number of slots, more than there are entries.
    mutating func resizeIndex(to slots: Int) {
        let old = unsafe index
        unsafe index = .allocate(capacity: slots)
        unsafe index.initialize(repeating: 0)
        for slot in old.indices where unsafe old[slot] != 0 { unsafe insert(Slot.offset(old[slot])) }
        unsafe old.deallocate()
    }

    /// Where probing for a hash begins.
    @inline(__always)
    private func home(_ hash: UInt32) -> Int {
        unsafe Int(truncatingIfNeeded: UInt64(hash) &* UInt64(index.count) &>> 32)
    }

    @inline(__always)
    private func following(_ slot: Int) -> Int { unsafe slot &+ 1 == index.count ? 0 : slot &+ 1 }
}

/// A slot of the index: 24 bits for the number of the block, counted from 1, and 8 bits of the hash. 0 is empty.
enum Slot {
    /// Bytes of a slot.
    static let size = 4
    /// Blocks beyond this offset, 128 MiB, cannot be numbered.
    static let maximumOffset = 0x00ff_fffe * Block.granule

    @inline(__always)
    static func make(offset: Int, hash: UInt32) -> UInt32 {
        UInt32(truncatingIfNeeded: offset / Block.granule &+ 1) | tag(ofHash: hash)
    }

    @inline(__always)
    static func offset(_ value: UInt32) -> Int { (Int(value & 0x00ff_ffff) &- 1) &* Block.granule }

    @inline(__always)
    static func tag(_ value: UInt32) -> UInt32 { value & 0xff00_0000 }

    /// The lowest bits of the hash: those that say least about the slot.
    @inline(__always)
    static func tag(ofHash hash: UInt32) -> UInt32 { hash &<< 24 }
}

/// One entry in a store's memory: a header of fixed fields, the key, the body, and the offsets of the body's TTLs.
///
/// A reference, good only until the store changes.
@safe
struct Block {
    /// Blocks begin at multiples of this and are as long, in bytes.
    static let granule = 8

    private let address: UnsafeMutableRawPointer

    @unsafe
    fileprivate init(_ address: UnsafeMutableRawPointer) { unsafe self.address = address }

    /// Offsets of the header's fields.
    private enum Field {
        static var hash: Int { 0 }
        static var granules: Int { 4 }
        static var state: Int { 6 }
        static var responseCode: Int { 7 }
        static var storedAt: Int { 8 }
        static var lifetime: Int { 12 }
        static var generation: Int { 16 }
        static var route: Int { 20 }
        static var source: Int { 24 }
        static var keyCount: Int { 26 }
        static var bodyCount: Int { 28 }
        static var answer: Int { 30 }
        static var authority: Int { 32 }
        static var additional: Int { 34 }
        static var key: Int { 36 }
    }

    /// Bits of the state.
    private enum State {
        static var live: UInt8 { 1 }
        static var visited: UInt8 { 2 }
        static var negative: UInt8 { 4 }
    }

    @inline(__always)
    private func load<Value: BitwiseCopyable>(_ field: Int, as type: Value.Type = Value.self) -> Value {
        unsafe address.load(fromByteOffset: field, as: type)
    }

    @inline(__always)
    private func store<Value: BitwiseCopyable>(_ value: Value, _ field: Int) {
        unsafe address.storeBytes(of: value, toByteOffset: field, as: Value.self)
    }

    var hash: UInt32 { load(Field.hash) }
    var size: Int { Int(load(Field.granules, as: UInt16.self)) * Self.granule }
    var storedAt: UInt32 { load(Field.storedAt) }
    var lifetime: UInt32 { load(Field.lifetime) }
    /// Whether an entry lives here, or it was removed or replaced.
    var isLive: Bool { load(Field.state, as: UInt8.self) & State.live != 0 }
    /// Whether it was asked for since it was last looked at for eviction.
    var isVisited: Bool { load(Field.state, as: UInt8.self) & State.visited != 0 }
    var generation: UInt32 {
        get { load(Field.generation) }
        nonmutating set { store(newValue, Field.generation) }
    }
    private var keyCount: Int { Int(load(Field.keyCount, as: UInt16.self)) }
    private var bodyCount: Int { Int(load(Field.bodyCount, as: UInt16.self)) }
    private var bodyStart: Int { Field.key &+ keyCount }
    /// Aligned for 16 bits.
    private var ttlOffsetsStart: Int { (bodyStart &+ bodyCount &+ 1) & ~1 }
    private var responseCode: UInt16 { UInt16(load(Field.responseCode, as: UInt8.self)) }
    private var counts: PackedAnswer.SectionCounts {
        PackedAnswer.SectionCounts(
            answer: load(Field.answer), authority: load(Field.authority), additional: load(Field.additional))
    }

    func markRemoved() { store(load(Field.state, as: UInt8.self) & ~State.live, Field.state) }

    func clearVisited() { store(load(Field.state, as: UInt8.self) & ~State.visited, Field.state) }

    @inline(__always)
    func markVisited() {
        let state: UInt8 = load(Field.state)
        // A write would take the cache line from the other threads each time.
        if state & State.visited == 0 { store(state | State.visited, Field.state) }
    }

    /// Whether this is the entry for `key`.
    @inline(__always)
    func matches(_ key: Span<UInt8>) -> Bool {
        let count = key.count
        guard keyCount == count else { return false }
        let other = unsafe key.bytes
        // Only the root's key is shorter than a word.
        if count < 8 { return key.indices.allSatisfy { key[$0] == load(Field.key &+ $0, as: UInt8.self) } }
        var at = 0
        while at &+ 8 < count {
            if unsafe load(Field.key, word: at) != other.word(at: at) { return false }
            at &+= 8
        }
        return unsafe load(Field.key, word: count &- 8) == other.word(at: count &- 8)
    }

    @inline(__always)
    private func load(_ field: Int, word at: Int) -> UInt64 {
        unsafe address.loadUnaligned(fromByteOffset: field &+ at, as: UInt64.self)
    }

    /// Writes the reply that this entry makes, `age` seconds after it was stored.
    @inline(__always)
    func write(
        _ echo: Reply.Echo, message: Span<UInt8>, age: UInt32, limit: Int,
        into output: inout OutputSpan<UInt8>
    ) -> Bool {
        let counts = counts
        let body = unsafe UnsafeRawPointer(address + bodyStart).assumingMemoryBound(to: UInt8.self)
        let offsets = unsafe UnsafeRawPointer(address + ttlOffsetsStart).assumingMemoryBound(to: UInt16.self)
        return unsafe Reply.write(
            responseCode, counts: counts, body: Span(_unsafeStart: body, count: bodyCount),
            ttlOffsets: Span(_unsafeStart: offsets, count: counts.total), echo: echo, message: message,
            aging: .fresh(age: age), options: Span(), limit: limit, into: &output)
    }

    /// Bytes of the block of an entry.
    static func size(keyCount: Int, answer: PackedAnswer) -> Int {
        let end = (Field.key + keyCount + answer.body.count + 1) & ~1 + answer.ttlOffsets.count * 2
        return (end + granule - 1) & ~(granule - 1)
    }

    /// Makes a new block of `size` bytes, still without an entry.
    func initialize(size: Int, hash: UInt32) {
        store(hash, Field.hash)
        store(UInt16(truncatingIfNeeded: size / Self.granule), Field.granules)
        store(0 as UInt8, Field.state)
    }

    /// Fills the block, which has the size that `entry` and `key` need.
    func write(_ entry: CacheEntry, key: Span<UInt8>) {
        let visited = load(Field.state, as: UInt8.self) & State.visited
        store(State.live | visited | (entry.isNegative ? State.negative : 0), Field.state)
        store(UInt8(truncatingIfNeeded: entry.answer.responseCode.rawValue), Field.responseCode)
        store(entry.storedAt.seconds, Field.storedAt)
        store(entry.lifetime, Field.lifetime)
        store(entry.generation, Field.generation)
        store(entry.route, Field.route)
        store(entry.source, Field.source)
        store(UInt16(truncatingIfNeeded: key.count), Field.keyCount)
        store(UInt16(truncatingIfNeeded: entry.answer.body.count), Field.bodyCount)
        store(entry.answer.counts.answer, Field.answer)
        store(entry.answer.counts.authority, Field.authority)
        store(entry.answer.counts.additional, Field.additional)
        for index in 0..<key.count { store(key[index], Field.key + index) }
        unsafe entry.answer.body.withUnsafeBytes { unsafe copy($0, to: bodyStart) }
        unsafe entry.answer.ttlOffsets.withUnsafeBytes { unsafe copy($0, to: ttlOffsetsStart) }
    }

    private func copy(_ bytes: UnsafeRawBufferPointer, to start: Int) {
        guard let source = bytes.baseAddress else { return }
        unsafe (address + start).copyMemory(from: source, byteCount: bytes.count)
    }

    /// A copy of the entry.
    var entry: CacheEntry {
        let body = unsafe UnsafeRawBufferPointer(start: address + bodyStart, count: bodyCount)
        let offsets = unsafe UnsafeRawBufferPointer(start: address + ttlOffsetsStart, count: counts.total * 2)
        let answer = unsafe PackedAnswer(
            responseCode: ResponseCode(rawValue: responseCode), counts: counts, body: [UInt8](body),
            ttlOffsets: [UInt16](offsets.assumingMemoryBound(to: UInt16.self)))
        return CacheEntry(
            answer: answer, storedAt: Instant(nanoseconds: Int64(storedAt) * 1_000_000_000), lifetime: lifetime,
            generation: generation, route: load(Field.route), source: load(Field.source),
            isNegative: load(Field.state, as: UInt8.self) & State.negative != 0)
    }
}

/// A keyed hash of query keys: who does not know the secret cannot choose names that collide.
struct KeyHash: Sendable {
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64

    /// Draws a secret for this process.
    init() {
        var generator = SystemRandomNumberGenerator()
        first = generator.next()
        second = generator.next()
        third = generator.next()
    }

    /// Takes 16 bytes at a time through a multiplication of 64 by 64 bits, folded.
    @inline(__always)
    func callAsFunction(_ key: Span<UInt8>) -> UInt64 {
        let bytes = unsafe key.bytes
        let count = key.count
        var state = first ^ UInt64(truncatingIfNeeded: count)
        if count < 8 {
            for index in key.indices { state = state &<< 8 ^ UInt64(key[index]) }
        } else {
            var at = 0
            while at &+ 16 < count {
                state = unsafe Self.fold(bytes.word(at: at) ^ second, bytes.word(at: at &+ 8) ^ state)
                at &+= 16
            }
            // The last 16 bytes, or both ends of a short key; bytes hashed twice do no harm.
            let start = count < 16 ? 0 : count &- 16
            state = unsafe Self.fold(bytes.word(at: start) ^ second, bytes.word(at: count &- 8) ^ state)
        }
        return Self.fold(state ^ second, third)
    }

    @inline(__always)
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let (high, low) = left.multipliedFullWidth(by: right)
        return high ^ low
    }
}

extension RawSpan {
    /// Eight bytes, the first lowest. The caller sees to the bounds.
    @unsafe
    @inline(__always)
    fileprivate func word(at offset: Int) -> UInt64 {
        unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
    }
}

/// Bulk writes into a reply, each checked once for room.
extension OutputSpan where Element == UInt8 {
    /// Appends all of `source`.
    @inline(__always)
    mutating func append(copying source: Span<UInt8>) {
        let count = source.count
        precondition(count <= freeCapacity)
        unsafe withUnsafeMutableBufferPointer { buffer, initialized in
            unsafe source.withUnsafeBufferPointer { bytes in
                guard let from = bytes.baseAddress, let to = buffer.baseAddress else { return }
                unsafe (to + initialized).update(from: from, count: count)
            }
            initialized &+= count
        }
    }

    /// Appends an integer in network byte order.
    @inline(__always)
    mutating func append<Value: FixedWidthInteger & BitwiseCopyable>(bigEndian value: Value) {
        let count = MemoryLayout<Value>.size
        precondition(count <= freeCapacity)
        unsafe withUnsafeMutableBufferPointer { buffer, initialized in
            unsafe UnsafeMutableRawBufferPointer(buffer).storeBytes(
                of: value.bigEndian, toByteOffset: initialized, as: Value.self)
            initialized &+= count
        }
    }

    /// Overwrites the 32 bits at `offset`, in network byte order, with what `change` makes of them.
    @inline(__always)
    mutating func update(at offset: Int, _ change: (UInt32) -> UInt32) {
        precondition(offset >= 0 && offset &+ 4 <= count)
        unsafe withUnsafeMutableBufferPointer { buffer, _ in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            let value = unsafe UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            unsafe bytes.storeBytes(of: change(value).bigEndian, toByteOffset: offset, as: UInt32.self)
        }
    }
}
