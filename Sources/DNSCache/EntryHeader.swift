/// The fixed fields with which an entry begins in a store's memory, laid out without gaps: 38 bytes.
struct EntryHeader: BitwiseCopyable {
    /// Of the key.
    var hash: UInt32
    /// The block's size in granules of 8 bytes.
    var granules: UInt16
    var isLive: Bool
    /// Whether it was asked for since it was last looked at for eviction.
    var isVisited: Bool
    /// Boot-clock seconds.
    var storedAt: UInt32
    var lifetime: UInt32
    var generation: UInt32
    var route: UInt16
    var source: UInt16
    var server: UInt16
    /// 4 bits.
    var responseCode: UInt8
    var isNegative: Bool
    /// Bytes of the key, and of the body.
    var keyCount: UInt16
    var bodyCount: UInt16
    var counts: PackedAnswer.SectionCounts
}
