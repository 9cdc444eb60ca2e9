/// The position of a walk over a cache that may change meanwhile.
package struct CacheCursor: Hashable, Sendable {
    let shard: Int
    /// Slot of the shard's index.
    let slot: Int

    /// The start of every walk.
    package static let start = CacheCursor(shard: 0, slot: 0)

    init(shard: Int, slot: Int) {
        self.shard = shard
        self.slot = slot
    }
}

extension CacheCursor: LosslessStringConvertible {
    /// `12.3400`
    package var description: String { "\(shard).\(slot)" }

    /// Parses a cursor's description; nil for any other text.
    package init?(_ description: String) {
        let parts = description.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let shard = UInt16(parts[0]), let slot = UInt32(parts[1]) else { return nil }
        self.init(shard: Int(shard), slot: Int(slot))
    }
}
