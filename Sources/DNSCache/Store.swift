import DNSWire
import Scheduling
import Synchronization

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

    /// Whether `slot` leads to a block.
    func isUsed(_ slot: Int) -> Bool { unsafe index[slot] != 0 }

    /// The block that `slot` leads to; it must not be empty.
    @inline(__always)
    func block(inSlot slot: Int) -> Block { block(at: offset(inSlot: slot)) }

    /// Where the block begins that `slot` leads to; it must not be empty.
    @inline(__always)
    func offset(inSlot slot: Int) -> Int { unsafe Slot.offset(index[slot]) }

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
        let hash = block(at: offset).header.hash
        var slot = home(hash)
        while unsafe index[slot] != 0 { slot = following(slot) }
        unsafe index[slot] = Slot.make(offset: offset, hash: hash)
    }

    /// Moves a block's bytes, which may overlap, and leads its slot to the new place.
    mutating func move(_ slot: Int, from offset: Int, to target: Int) {
        let block = block(at: offset)
        let value = Slot.make(offset: target, hash: block.header.hash)
        unsafe (memory + target).copyMemory(from: memory + offset, byteCount: block.size)
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
        unsafe Int(truncatingIfNeeded: (UInt64(hash) &* UInt64(index.count)) &>> 32)
    }

    @inline(__always)
    private func following(_ slot: Int) -> Int { unsafe slot &+ 1 == index.count ? 0 : slot &+ 1 }
}

/// One entry in a store's memory: an `EntryHeader`, the key, the body, and the offsets of the body's TTLs.
///
/// A reference, good only until the store changes.
@safe
struct Block {
    /// Blocks begin at multiples of this and are as long, in bytes.
    static let granule = 8
    /// Where the key begins.
    private static var keyStart: Int { MemoryLayout<EntryHeader>.size }

    private let address: UnsafeMutableRawPointer

    @unsafe
    fileprivate init(_ address: UnsafeMutableRawPointer) { unsafe self.address = address }

    @inline(__always)
    var header: EntryHeader { unsafe address.assumingMemoryBound(to: EntryHeader.self).pointee }

    /// Changes fields of the header in place.
    @inline(__always)
    func update(_ change: (inout EntryHeader) -> Void) {
        unsafe change(&address.assumingMemoryBound(to: EntryHeader.self).pointee)
    }

    var size: Int { Int(header.granules) * Self.granule }
    private var keyCount: Int { Int(header.keyCount) }
    private var bodyCount: Int { Int(header.bodyCount) }
    private var bodyStart: Int { Self.keyStart &+ keyCount }
    /// Aligned for 16 bits.
    private var ttlOffsetsStart: Int { (bodyStart &+ bodyCount &+ 1) & ~1 }

    /// Whether this is the entry for `key`.
    @inline(__always)
    func matches(_ key: Span<UInt8>) -> Bool {
        let count = key.count
        guard keyCount == count else { return false }
        if count < 8 { return matchesShort(key) }
        let other = unsafe key.bytes
        var at = 0
        while at &+ 8 < count {
            if unsafe word(at: at) != other.word(at: at) { return false }
            at &+= 8
        }
        return unsafe word(at: count &- 8) == other.word(at: count &- 8)
    }

    /// The same for the root's key, the only one shorter than a word.
    @inline(never)
    private func matchesShort(_ key: Span<UInt8>) -> Bool {
        key.indices.allSatisfy { unsafe key[$0] == address.load(fromByteOffset: Self.keyStart &+ $0, as: UInt8.self) }
    }

    @inline(__always)
    private func word(at offset: Int) -> UInt64 {
        unsafe address.loadUnaligned(fromByteOffset: Self.keyStart &+ offset, as: UInt64.self)
    }

    /// Writes the reply that this entry makes, `age` seconds after it was stored.
    @inline(__always)
    func write(
        _ echo: Reply.Echo, message: Span<UInt8>, age: UInt32, limit: Int,
        into output: inout OutputSpan<UInt8>
    ) -> Bool {
        let body = unsafe UnsafeRawPointer(address + bodyStart).assumingMemoryBound(to: UInt8.self)
        let offsets = unsafe UnsafeRawPointer(address + ttlOffsetsStart).assumingMemoryBound(to: UInt16.self)
        return unsafe Reply.write(
            UInt16(header.responseCode), counts: header.counts, body: Span(_unsafeStart: body, count: bodyCount),
            ttlOffsets: Span(_unsafeStart: offsets, count: header.counts.total), echo: echo, message: message,
            aging: .fresh(age: age), options: Span(), limit: limit, into: &output)
    }

    /// Bytes of the block of an entry.
    static func size(keyCount: Int, answer: PackedAnswer) -> Int {
        let end = (keyStart + keyCount + answer.body.count + 1) & ~1 + answer.ttlOffsets.count * 2
        return (end + granule - 1) & ~(granule - 1)
    }

    /// Fills a block of `size` bytes, which is what `entry` and `key` need.
    func write(_ entry: CacheEntry, key: Span<UInt8>, hash: UInt32, size: Int, isVisited: Bool) {
        let header = EntryHeader(
            hash: hash, granules: UInt16(truncatingIfNeeded: size / Self.granule), isLive: true, isVisited: isVisited,
            storedAt: entry.storedAt.seconds, lifetime: entry.lifetime, generation: entry.generation,
            route: entry.route, source: entry.source,
            responseCode: UInt8(truncatingIfNeeded: entry.answer.responseCode.rawValue),
            isNegative: entry.isNegative, keyCount: UInt16(truncatingIfNeeded: key.count),
            bodyCount: UInt16(truncatingIfNeeded: entry.answer.body.count), counts: entry.answer.counts)
        unsafe address.initializeMemory(as: EntryHeader.self, to: header)
        unsafe key.withUnsafeBytes { unsafe copy($0, to: Self.keyStart) }
        unsafe entry.answer.body.withUnsafeBytes { unsafe copy($0, to: bodyStart) }
        unsafe entry.answer.ttlOffsets.withUnsafeBytes { unsafe copy($0, to: ttlOffsetsStart) }
    }

    private func copy(_ bytes: UnsafeRawBufferPointer, to start: Int) {
        guard let source = bytes.baseAddress else { return }
        unsafe (address + start).copyMemory(from: source, byteCount: bytes.count)
    }

    /// A copy of the key.
    var key: [UInt8] {
        unsafe [UInt8](UnsafeRawBufferPointer(start: address + Self.keyStart, count: keyCount))
    }

    /// A copy of the entry.
    var entry: CacheEntry {
        let header = header
        let body = unsafe UnsafeRawBufferPointer(start: address + bodyStart, count: bodyCount)
        let offsets = unsafe UnsafeRawBufferPointer(start: address + ttlOffsetsStart, count: header.counts.total * 2)
        let answer = unsafe PackedAnswer(
            responseCode: ResponseCode(rawValue: UInt16(header.responseCode)), counts: header.counts,
            body: [UInt8](body), ttlOffsets: [UInt16](offsets.assumingMemoryBound(to: UInt16.self)))
        return CacheEntry(
            answer: answer, storedAt: Instant(nanoseconds: Int64(header.storedAt) * 1_000_000_000),
            lifetime: header.lifetime, generation: header.generation, route: header.route, source: header.source,
            isNegative: header.isNegative)
    }
}

/// A shard and its lock.
@safe
struct Guarded: ~Copyable, @unchecked Sendable {
    private let mutex = Mutex(())
    /// How often the lock was taken.
    ///
    /// Mutual exclusion is the mutex's alone. But the thread sanitizer does not see into the standard library's path for
    /// a contended mutex, and then reports every use of the shard as a race; an acquiring load and a releasing store,
    /// plain moves on x86-64, tell it the order.
    private let turns = Atomic<Int>(0)
    private let shard: UnsafeMutablePointer<Shard>

    init(_ shard: consuming Shard) {
        unsafe self.shard = .allocate(capacity: 1)
        unsafe self.shard.initialize(to: shard)
    }

    deinit {
        unsafe shard.deinitialize(count: 1)
        unsafe shard.deallocate()
    }

    /// Runs `body` while no other thread uses the shard.
    @inline(__always)
    func withLock<Result: Sendable>(_ body: (inout Shard) -> Result) -> Result {
        mutex.withLock { _ in
            let turn = turns.load(ordering: .acquiring)
            let result = unsafe body(&shard.pointee)
            turns.store(turn &+ 1, ordering: .releasing)
            return result
        }
    }
}

/// A hash with a secret: who does not know it cannot choose names that collide.
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
        let count = key.count
        if count < 16 { return short(key) }
        let bytes = unsafe key.bytes
        var state = first ^ UInt64(truncatingIfNeeded: count)
        var at = 0
        while at &+ 16 < count {
            state = unsafe Self.fold(bytes.word(at: at) ^ second, bytes.word(at: at &+ 8) ^ state)
            at &+= 16
        }
        // The last 16 bytes, some of them for the second time.
        state = unsafe Self.fold(bytes.word(at: count &- 16) ^ second, bytes.word(at: count &- 8) ^ state)
        return Self.fold(state ^ second, third)
    }

    /// The same for keys of less than 16 bytes.
    @inline(never)
    private func short(_ key: Span<UInt8>) -> UInt64 {
        var words = (0 as UInt64, 0 as UInt64)
        for index in key.indices { words = (words.0 << 8 | words.1 >> 56, words.1 << 8 | UInt64(key[index])) }
        let state = Self.fold(words.0 ^ second, words.1 ^ first ^ UInt64(truncatingIfNeeded: key.count))
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
