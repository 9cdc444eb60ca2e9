import CPrefetch
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

    /// Has the memory fetched in which `find` will look for a hash, and does not wait for it.
    @inline(__always)
    func prefetch(hash: UInt32) {
        let value = unsafe index[home(hash)]
        guard value != 0 else { return }
        let block = unsafe memory + Slot.offset(value)
        unsafe cprefetch(block)
        // Most entries are longer than one cache line.
        unsafe cprefetch(block + 64)
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

    /// Whether this is the entry for a key; `name` may be in any letter case.
    @inline(__always)
    func matches(_ name: Span<UInt8>, _ tail: KeyTail) -> Bool {
        let count = name.count
        guard keyCount == count &+ KeyTail.count, self.tail(at: count) == tail.value else { return false }
        if count < 8 { return matchesShort(name) }
        let other = unsafe name.bytes
        var at = 0
        while at &+ 8 < count {
            guard unsafe matches(at: at, other.word(at: at)) else { return false }
            at &+= 8
        }
        return unsafe matches(at: count &- 8, other.word(at: count &- 8))
    }

    /// Whether the key holds these eight bytes, in any letter case; mostly they are in lower case already.
    @inline(__always)
    private func matches(at offset: Int, _ word: UInt64) -> Bool {
        let kept = unsafe address.loadUnaligned(fromByteOffset: Self.keyStart &+ offset, as: UInt64.self)
        return kept == word || kept == word.asciiLowercased
    }

    /// The same for names shorter than a word.
    @inline(never)
    private func matchesShort(_ name: Span<UInt8>) -> Bool {
        name.indices.allSatisfy {
            unsafe asciiLowercased(name[$0]) == address.load(fromByteOffset: Self.keyStart &+ $0, as: UInt8.self)
        }
    }

    /// What follows a name of `count` bytes in the key, as in `KeyTail.value`.
    @inline(__always)
    private func tail(at count: Int) -> UInt64 {
        let start = Self.keyStart &+ count
        let high = unsafe address.loadUnaligned(fromByteOffset: start, as: UInt32.self)
        let low = unsafe address.load(fromByteOffset: start &+ 4, as: UInt8.self)
        return UInt64(UInt32(bigEndian: high)) &<< 8 | UInt64(low)
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
    static func size(nameCount: Int, answer: PackedAnswer) -> Int {
        let end = (keyStart + nameCount + KeyTail.count + answer.body.count + 1) & ~1 + answer.ttlOffsets.count * 2
        return (end + granule - 1) & ~(granule - 1)
    }

    /// Fills a block of `size` bytes, which is what the entry and its key need; `name` is in lower case.
    func write(
        _ entry: CacheEntry, name: Span<UInt8>, tail: KeyTail, hash: UInt32, size: Int, isVisited: Bool
    ) {
        let header = EntryHeader(
            entry, hash: hash, granules: size / Self.granule, keyCount: name.count &+ KeyTail.count,
            marks: isVisited ? [.live, .visited] : .live)
        unsafe address.initializeMemory(as: EntryHeader.self, to: header)
        unsafe name.withUnsafeBytes { unsafe copy($0, to: Self.keyStart) }
        let tail = UInt64(tail.value &<< 24).bigEndian
        unsafe withUnsafeBytes(of: tail) { bytes in
            unsafe copy(UnsafeRawBufferPointer(rebasing: bytes[..<KeyTail.count]), to: Self.keyStart &+ name.count)
        }
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
        var entry = CacheEntry(
            answer: answer, storedAt: Instant(nanoseconds: Int64(header.storedAt) * 1_000_000_000),
            lifetime: header.lifetime, generation: header.generation, route: header.route, source: header.source,
            server: header.server, isNegative: header.isNegative, refreshMargin: header.refreshMargin)
        entry.wasHit = header.marks.contains(.hit)
        return entry
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

/// What follows the name in a key: type, class, and the DO and CD bits.
struct KeyTail {
    /// Bytes of it in a key.
    static var count: Int { 5 }

    /// The five bytes as a number, the first one highest.
    let value: UInt64

    @inline(__always)
    init(_ query: Query) {
        let flags: UInt64 = (query.dnssecOK ? 1 : 0) | (query.checkingDisabled ? 2 : 0)
        value = UInt64(query.type.rawValue) &<< 24 | UInt64(query.class.rawValue) &<< 8 | flags
    }

    init(_ key: borrowing QueryKey) {
        var value = 0 as UInt64
        for index in (key.count - Self.count)..<key.count { value = value << 8 | UInt64(key[index]) }
        self.value = value
    }

    /// Takes the end of a block's key.
    init(_ key: [UInt8]) { value = key.suffix(Self.count).reduce(0) { $0 << 8 | UInt64($1) } }
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
        second = generator.next() | 1
        third = generator.next() | 1
    }

    /// The hash of a key; `name` may be in any letter case.
    ///
    /// Takes eight bytes at a time through a multiplication of 64 by 64 bits, folded.
    @inline(__always)
    func callAsFunction(_ name: Span<UInt8>, _ tail: KeyTail) -> UInt64 {
        let count = name.count
        var state = first ^ UInt64(truncatingIfNeeded: count)
        if count < 8 {
            state ^= Self.short(name)
        } else {
            let bytes = unsafe name.bytes
            var at = 0
            while at &+ 8 < count {
                state = unsafe Self.fold(state ^ bytes.word(at: at).asciiLowercased, second)
                at &+= 8
            }
            // The last eight bytes, some of them for the second time.
            state ^= unsafe bytes.word(at: count &- 8).asciiLowercased
        }
        return Self.fold(Self.fold(state, second) ^ tail.value, third)
    }

    /// A name of less than eight bytes as one word.
    @inline(never)
    private static func short(_ name: Span<UInt8>) -> UInt64 {
        var word = 0 as UInt64
        for index in name.indices { word = word &<< 8 | UInt64(asciiLowercased(name[index])) }
        return word
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

extension UInt64 {
    /// Eight characters with the letters A to Z made small; bytes above 127 stay.
    @inline(__always)
    fileprivate var asciiLowercased: UInt64 {
        let low = self & 0x7f7f_7f7f_7f7f_7f7f
        // A byte's top bit is set in `upper` if its lower seven are a letter from A to Z.
        let upper = (low &+ 0x3f3f_3f3f_3f3f_3f3f) ^ (low &+ 0x2525_2525_2525_2525)
        return self | (upper & ~self & 0x8080_8080_8080_8080) &>> 2
    }
}

extension OutputSpan where Element == UInt8 {
    /// Appends a reply, checked once for room: header, question, records with their TTLs changed by `age`, OPT record.
    ///
    /// - Parameters:
    ///   - header: its first eight bytes.
    ///   - counts: its last four bytes.
    ///   - message: the client's, from which the question is copied.
    ///   - ttlOffsets: where TTLs lie in `body`.
    ///   - opt: the first eight bytes of the fixed part of an OPT record, the root name first; 0 for none.
    @inline(__always)
    mutating func append(
        header: UInt64, counts: UInt32, message: Span<UInt8>, questionLength: Int, body: Span<UInt8>,
        ttlOffsets: Span<UInt16>, aging: Reply.Aging, opt: UInt64, options: Span<UInt8>
    ) {
        let head = Header.length &+ questionLength
        let bodyCount = body.count
        let optCount = opt == 0 ? 0 : EDNS.recordLength &+ options.count
        precondition(head <= message.count && head &+ bodyCount &+ optCount <= freeCapacity)
        unsafe withUnsafeMutableBufferPointer { buffer, initialized in
            guard let start = buffer.baseAddress else { return }
            let reply = unsafe UnsafeMutableRawPointer(start + initialized)
            // The client's header is copied with the question, and then overwritten: so there are always 16 bytes.
            unsafe message.withUnsafeBytes { unsafe reply.copyBlocks($0, count: head) }
            unsafe reply.storeBytes(of: header.bigEndian, as: UInt64.self)
            unsafe reply.storeBytes(of: counts.bigEndian, toByteOffset: 8, as: UInt32.self)
            let records = unsafe reply + head
            unsafe body.withUnsafeBytes { bytes in
                if bodyCount >= 16, bodyCount <= 64 { return unsafe records.copyBlocks(bytes, count: bodyCount) }
                guard let source = bytes.baseAddress else { return }
                unsafe records.copyMemory(from: source, byteCount: bodyCount)
            }
            for index in ttlOffsets.indices {
                let offset = Int(ttlOffsets[index])
                precondition(offset &+ 4 <= bodyCount)
                let kept = unsafe UInt32(bigEndian: records.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
                unsafe records.storeBytes(of: aging.ttl(kept).bigEndian, toByteOffset: offset, as: UInt32.self)
            }
            if opt != 0 {
                let record = unsafe records + bodyCount
                unsafe record.storeBytes(of: opt.bigEndian, as: UInt64.self)
                unsafe record.storeBytes(of: 0, toByteOffset: 8, as: UInt8.self)
                let length = UInt16(truncatingIfNeeded: options.count)
                unsafe record.storeBytes(of: length.bigEndian, toByteOffset: 9, as: UInt16.self)
                unsafe options.withUnsafeBytes { bytes in
                    guard let source = bytes.baseAddress else { return }
                    unsafe (record + EDNS.recordLength).copyMemory(from: source, byteCount: bytes.count)
                }
            }
            initialized &+= head &+ bodyCount &+ optCount
        }
    }
}

extension UnsafeMutableRawPointer {
    /// Copies the first `count` bytes of `source`, 16 or more, from elsewhere in memory.
    @unsafe
    @inline(__always)
    fileprivate func copyBlocks(_ source: UnsafeRawBufferPointer, count: Int) {
        guard let from = source.baseAddress else { return }
        var at = 0
        while at &+ 16 < count {
            unsafe copyBlock(from, at: at)
            at &+= 16
        }
        // The last 16 bytes, some of them for the second time.
        unsafe copyBlock(from, at: count &- 16)
    }

    @unsafe
    @inline(__always)
    private func copyBlock(_ from: UnsafeRawPointer, at offset: Int) {
        unsafe storeBytes(
            of: from.loadUnaligned(fromByteOffset: offset, as: SIMD2<UInt64>.self), toByteOffset: offset,
            as: SIMD2<UInt64>.self)
    }
}
