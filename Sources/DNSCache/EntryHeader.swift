import DNSWire
import Scheduling

/// The fixed fields with which an entry begins in a store's memory, laid out without gaps: 38 bytes.
struct EntryHeader: BitwiseCopyable {
    /// Of the key.
    var hash: UInt32
    /// The block's size in granules of 8 bytes.
    var granules: UInt16
    var marks: EntryMarks
    /// The RCODE in 4 bits, and above it one for `isNegative` and one for `rotates`.
    private var outcome: UInt8
    /// Boot-clock seconds.
    var storedAt: UInt32
    /// Seconds for which the UDP threads serve it without the loop; the rest of its lifetime is the margin.
    var hitLifetime: UInt32
    var generation: UInt32
    var route: UInt16
    var source: UInt16
    var server: UInt16
    /// Seconds at the end of its lifetime in which the loop is asked whether it is worth a refresh.
    private var margin: UInt16
    /// Bytes of the key, and of the body.
    var keyCount: UInt16
    var bodyCount: UInt16
    var counts: PackedAnswer.SectionCounts

    private static var negativeBit: UInt8 { 0x10 }
    private static var rotatesBit: UInt8 { 0x20 }

    /// - Parameters:
    ///   - granules: of the whole block.
    ///   - keyCount: bytes of the key, which is not longer than 260.
    init(_ entry: CacheEntry, hash: UInt32, granules: Int, keyCount: Int, marks: EntryMarks) {
        self.hash = hash
        self.granules = UInt16(truncatingIfNeeded: granules)
        self.marks = marks
        outcome =
            UInt8(truncatingIfNeeded: entry.answer.responseCode.rawValue & 15)
            | (entry.isNegative ? Self.negativeBit : 0) | (entry.answer.rotates ? Self.rotatesBit : 0)
        storedAt = entry.storedAt.seconds
        margin = UInt16(truncatingIfNeeded: min(entry.refreshMargin, entry.lifetime, UInt32(UInt16.max)))
        hitLifetime = entry.lifetime - UInt32(margin)
        generation = entry.generation
        route = entry.route
        source = entry.source
        server = entry.server
        self.keyCount = UInt16(truncatingIfNeeded: keyCount)
        bodyCount = UInt16(truncatingIfNeeded: entry.answer.body.count)
        counts = entry.answer.counts
    }

    /// 4 bits.
    @inline(__always)
    var responseCode: UInt8 { outcome & 15 }

    var isNegative: Bool { outcome & Self.negativeBit != 0 }

    /// As the answer's.
    @inline(__always)
    var rotates: Bool {
        get { outcome & Self.rotatesBit != 0 }
        set { outcome = outcome & ~Self.rotatesBit | (newValue ? Self.rotatesBit : 0) }
    }

    /// Seconds for which it is fresh.
    var lifetime: UInt32 { hitLifetime &+ UInt32(margin) }

    var refreshMargin: UInt32 { UInt32(margin) }

    /// Has the UDP threads serve it to the end of its lifetime.
    mutating func dropMargin() {
        hitLifetime = lifetime
        margin = 0
    }
}

/// What happened to an entry since it was stored, or last looked at.
struct EntryMarks: OptionSet, BitwiseCopyable {
    let rawValue: UInt8

    /// The index leads to it.
    static var live: EntryMarks { EntryMarks(rawValue: 1) }
    /// It was asked for since it was last looked at for eviction.
    static var visited: EntryMarks { EntryMarks(rawValue: 2) }
    /// It has answered a client since it was stored.
    static var hit: EntryMarks { EntryMarks(rawValue: 4) }
    /// All that an entry has after a hit.
    static var afterHit: EntryMarks { EntryMarks(rawValue: 7) }
}
