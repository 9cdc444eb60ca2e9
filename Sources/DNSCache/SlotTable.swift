import DNSWire
import Synchronization

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

    /// Where the slot stands at which probing for a hash begins, in what is or was the table; for any thread.
    ///
    /// - Parameter words: of a table that has not ended, nor its successor.
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
