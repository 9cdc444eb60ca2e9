/// Where a walk over a cache that changes meanwhile stands.
package struct CacheCursor: Hashable, Sendable {
    let shard: Int
    /// Of the shard's index.
    let slot: Int

    /// Where every walk begins.
    package static let start = CacheCursor(shard: 0, slot: 0)

    init(shard: Int, slot: Int) {
        self.shard = shard
        self.slot = slot
    }
}

extension CacheCursor: LosslessStringConvertible {
    /// `12.3400`
    package var description: String { "\(shard).\(slot)" }

    /// Nil for any other text than that of a cursor.
    package init?(_ description: String) {
        let parts = description.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let shard = UInt16(parts[0]), let slot = UInt32(parts[1]) else { return nil }
        self.init(shard: Int(shard), slot: Int(slot))
    }
}
