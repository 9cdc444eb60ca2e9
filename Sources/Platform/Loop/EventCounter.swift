import CLinux
import Glibc

/// An event counter that wakes a waiting thread; a post while no thread waits is not lost.
package struct EventCounter: ~Copyable, Sendable {
    private let descriptor: Descriptor

    /// - Throws: when the limit of descriptors is reached.
    package init() throws(SystemError) {
        descriptor = Descriptor(owning: try checked(clinux_eventfd_create(), "create eventfd"))
    }

    /// Increments the counter. May be called from any thread; never waits.
    package func post() { _ = clinux_eventfd_post(descriptor.number) }

    /// Waits until the counter was incremented since the last call, or a signal arrived. Blocks its thread.
    ///
    /// - Parameter limit: the longest wait in milliseconds; nil: unlimited.
    package func wait(atMost limit: Int32? = nil) {
        var entry = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&entry, 1, limit ?? -1) > 0 else { return }
        var count: UInt64 = 0
        _ = unsafe read(descriptor.number, &count, MemoryLayout<UInt64>.size)
    }
}
