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
