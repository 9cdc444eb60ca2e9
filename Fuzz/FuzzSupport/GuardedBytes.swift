import Glibc

/// Memory between two pages that must not be accessed: reading or writing a byte beside it ends the process.
///
/// The address sanitizer detects this only at the ends of its own allocations, while `DNSCache` copies within
/// allocations that many clients share. For the single thread of a fuzz target.
final class GuardedBytes: @unchecked Sendable {
    /// The number of bytes between the pages.
    private let room: Int
    /// The page before the buffer, the buffer, and the page after it.
    private let mapping: UnsafeMutableRawPointer

    /// - Parameter capacity: in bytes; rounded up to whole pages.
    init(_ capacity: Int) {
        let page = sysconf(Int32(_SC_PAGESIZE))
        room = (capacity + page - 1) / page * page
        guard
            let mapping = mmap(nil, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            mapping != MAP_FAILED, mprotect(mapping + page, room, PROT_READ | PROT_WRITE) == 0
        else { preconditionFailure("no guarded memory") }
        self.mapping = mapping + page
    }

    /// Lends `count` bytes, at most the capacity, that are adjacent to the page after them, or to the page before them.
    func bytes(_ count: Int, atEnd: Bool) -> UnsafeMutableBufferPointer<UInt8> {
        precondition(count <= room, "more than there is")
        let start = (mapping + (atEnd ? room - count : 0)).assumingMemoryBound(to: UInt8.self)
        return UnsafeMutableBufferPointer(start: start, count: count)
    }

    /// Lends a copy of `content` at that place.
    func copy(_ content: [UInt8], atEnd: Bool) -> UnsafeBufferPointer<UInt8> {
        let lent = bytes(content.count, atEnd: atEnd)
        _ = lent.update(fromContentsOf: content)
        return UnsafeBufferPointer(lent)
    }
}
