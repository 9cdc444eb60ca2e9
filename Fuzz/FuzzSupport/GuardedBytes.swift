import Glibc

/// Memory between two pages that must not be touched: a byte beside it that is read or written ends the process.
///
/// The address sanitizer sees this only of what was allocated by itself, and the copies of `DNSCache` are in places where
/// memory is one piece for many clients. For the one thread of a fuzz target.
package final class GuardedBytes: @unchecked Sendable {
    /// Bytes between the pages.
    private let room: Int
    /// The page before the room, the room, and the page behind it.
    private let mapping: UnsafeMutableRawPointer

    /// - Parameter capacity: bytes, which become whole pages.
    package init(_ capacity: Int) {
        let page = sysconf(Int32(_SC_PAGESIZE))
        room = (capacity + page - 1) / page * page
        guard
            let mapping = mmap(nil, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            mapping != MAP_FAILED, mprotect(mapping + page, room, PROT_READ | PROT_WRITE) == 0
        else { preconditionFailure("no guarded memory") }
        self.mapping = mapping + page
    }

    /// Lends `count` bytes, at most as many as there are, that touch the page behind them, or the page before them.
    package func bytes(_ count: Int, atEnd: Bool) -> UnsafeMutableBufferPointer<UInt8> {
        precondition(count <= room, "more than there is")
        let start = (mapping + (atEnd ? room - count : 0)).assumingMemoryBound(to: UInt8.self)
        return UnsafeMutableBufferPointer(start: start, count: count)
    }

    /// Lends a copy of `content` there.
    package func copy(_ content: [UInt8], atEnd: Bool) -> UnsafeBufferPointer<UInt8> {
        let lent = bytes(content.count, atEnd: atEnd)
        _ = lent.update(fromContentsOf: content)
        return UnsafeBufferPointer(lent)
    }
}
