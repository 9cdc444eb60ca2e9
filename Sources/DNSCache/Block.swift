import DNSWire

/// One entry in a store's memory: an `EntryHeader`, the key, and the body.
///
/// A reference, valid only until the store changes.
@safe
struct Block {
    /// Blocks begin at multiples of this number of bytes, and have lengths that are multiples of it.
    static let granule = 8
    /// The offset of the key in a block.
    private static var keyStart: Int { MemoryLayout<EntryHeader>.size }

    private let address: UnsafeMutableRawPointer

    @unsafe
    init(_ address: UnsafeMutableRawPointer) { unsafe self.address = address }

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
    /// Whether all parts are within the block: checked before any of them is copied out.
    @inline(__always)
    private var isSound: Bool { bodyStart &+ bodyCount <= size }

    /// Whether this is the entry for a key; `name` may have any letter case.
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

    /// Whether the key has these eight bytes at `offset`, in any letter case; mostly they are in lower case already.
    @inline(__always)
    private func matches(at offset: Int, _ word: UInt64) -> Bool {
        let stored = unsafe address.loadUnaligned(fromByteOffset: Self.keyStart &+ offset, as: UInt64.self)
        return stored == word || stored == word.asciiLowercased
    }

    /// The same for names shorter than a word.
    @inline(never)
    private func matchesShort(_ name: Span<UInt8>) -> Bool {
        name.indices.allSatisfy {
            unsafe asciiLowercased(name[$0]) == address.load(fromByteOffset: Self.keyStart &+ $0, as: UInt8.self)
        }
    }

    /// The bytes that follow a name of `count` bytes in the key, as in `KeyTail.value`.
    @inline(__always)
    private func tail(at count: Int) -> UInt64 {
        let start = Self.keyStart &+ count
        let high = unsafe address.loadUnaligned(fromByteOffset: start, as: UInt32.self)
        let low = unsafe address.load(fromByteOffset: start &+ 4, as: UInt8.self)
        return UInt64(UInt32(bigEndian: high)) &<< 8 | UInt64(low)
    }

    /// Writes the response from this entry, `age` seconds after it was stored. Returns whether it was written.
    @inline(__always)
    func write(
        _ echo: Reply.Echo, message: Span<UInt8>, age: UInt32, limit: Int,
        into output: inout OutputSpan<UInt8>
    ) -> Bool {
        guard isSound else { return false }
        let body = unsafe UnsafeRawPointer(address + bodyStart).assumingMemoryBound(to: UInt8.self)
        let isWritten = unsafe Reply.write(
            UInt16(header.responseCode), counts: header.counts, body: Span(_unsafeStart: body, count: bodyCount),
            echo: echo, message: message, aging: .fresh(age: age), options: Span(), limit: limit, into: &output)
        // Mostly there is one address: what it takes is found again there, so that nothing is held ready for it here.
        if header.rotates { rotateAddresses(age: age, in: &output) }
        return isWritten
    }

    /// Gives the addresses of the response that was just written another order.
    @inline(never)
    private func rotateAddresses(age: UInt32, in output: inout OutputSpan<UInt8>) {
        let body = unsafe UnsafeRawPointer(address + bodyStart).assumingMemoryBound(to: UInt8.self)
        unsafe output.rotateAddresses(
            of: Span(_unsafeStart: body, count: bodyCount), answers: Int(header.counts.answer), aging: .fresh(age: age))
    }

    /// Implements `MemoryCache.claimRefresh`.
    func claimRefresh() -> Bool {
        guard header.refreshMargin > 0 else { return false }
        guard header.marks.contains(.hit) else {
            update { $0.marks.insert(.hit) }
            return false
        }
        update { $0.dropMargin() }
        return true
    }

    /// The size in bytes of an entry's block; nil when a part is longer than its header can express.
    static func size(nameCount: Int, answer: PackedAnswer) -> Int? {
        guard nameCount <= longestPart - KeyTail.count, answer.body.count <= longestPart else { return nil }
        let end = keyStart + nameCount + KeyTail.count + answer.body.count
        let size = (end + granule - 1) & ~(granule - 1)
        return size / granule <= longestPart ? size : nil
    }

    /// The greatest value of a length in the header.
    private static let longestPart = Int(UInt16.max)

    /// Fills a block of `size` bytes, which must be the size for the entry and its key; `name` is in lower case.
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
    }

    /// Copies bytes into the block; does nothing when they would exceed its end.
    private func copy(_ bytes: UnsafeRawBufferPointer, to start: Int) {
        guard let source = bytes.baseAddress, start + bytes.count <= size else { return }
        unsafe (address + start).copyMemory(from: source, byteCount: bytes.count)
    }

    /// A copy of the key; empty for a block that is not sound.
    var key: [UInt8] {
        guard isSound else { return [] }
        return unsafe [UInt8](UnsafeRawBufferPointer(start: address + Self.keyStart, count: keyCount))
    }

    /// A copy of the entry; nil for a block that is not sound.
    var entry: CacheEntry? {
        guard isSound else { return nil }
        let header = header
        let body = unsafe UnsafeRawBufferPointer(start: address + bodyStart, count: bodyCount)
        let answer = unsafe PackedAnswer(
            responseCode: ResponseCode(rawValue: UInt16(header.responseCode)), counts: header.counts,
            body: [UInt8](body), rotates: header.rotates)
        return CacheEntry(
            answer: answer, storedAt: Instant(nanoseconds: Int64(header.storedAt) * 1_000_000_000),
            lifetime: header.lifetime, generation: header.generation, route: header.route, source: header.source,
            server: header.server, isNegative: header.isNegative, refreshMargin: header.refreshMargin)
    }
}

/// The bytes after the name in a key: type, class, and the DO and CD bits.
struct KeyTail {
    /// Its length in bytes in a key.
    static var count: Int { 5 }

    /// The five bytes as a number, the first one most significant.
    let value: UInt64

    @inline(__always)
    init(_ query: Query) {
        let flags: UInt64 = (query.dnssecOK ? 1 : 0) | (query.checkingDisabled ? 2 : 0)
        value = UInt64(query.type.rawValue) &<< 24 | UInt64(query.class.rawValue) &<< 8 | flags
    }

    /// Reads the end of a key.
    init(_ key: Span<UInt8>) {
        var value = 0 as UInt64
        for index in (key.count - Self.count)..<key.count { value = value << 8 | UInt64(key[index]) }
        self.value = value
    }
}

/// A slot of the index: 24 bits for the number of the block, counted from 1, and 8 bits of the hash. 0 is empty.
enum Slot {
    /// Bytes of a slot.
    static let size = MemoryLayout<UInt32>.size
    /// The greatest offset of a block: beyond it, at 128 MiB, blocks cannot be numbered.
    static let maximumOffset = 0x00ff_fffe * Block.granule

    @inline(__always)
    static func make(offset: Int, hash: UInt32) -> UInt32 {
        UInt32(truncatingIfNeeded: offset / Block.granule &+ 1) | tag(ofHash: hash)
    }

    @inline(__always)
    static func offset(_ value: UInt32) -> Int { (Int(value & 0x00ff_ffff) &- 1) &* Block.granule }

    @inline(__always)
    static func tag(_ value: UInt32) -> UInt32 { value & 0xff00_0000 }

    /// The lowest bits of the hash: those that determine the slot least.
    @inline(__always)
    static func tag(ofHash hash: UInt32) -> UInt32 { hash &<< 24 }
}

/// A keyed hash with a random secret: without it, names that collide cannot be chosen.
struct KeyHash: Sendable {
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64

    /// Generates a secret for this process.
    init() {
        var generator = SystemRandomNumberGenerator()
        first = generator.next()
        second = generator.next() | 1
        third = generator.next() | 1
    }

    /// The hash of a key; `name` may have any letter case.
    ///
    /// Processes eight bytes at a time with a multiplication of 64 by 64 bits, folded.
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
    /// Eight bytes, the first one least significant. The caller checks the bounds.
    @unsafe
    @inline(__always)
    func word(at offset: Int) -> UInt64 {
        unsafe unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
    }
}
