import Synchronization

/// The access list in force, for all threads: replaced by a reload.
///
/// Each thread has a copy, and looks once for each batch of datagrams whether the policy's generation has changed; only
/// then does it take the lock here and make a new copy. So a hit costs nothing more, and there is nothing to free that a
/// thread may still use. Whoever replaces the list raises the generation afterwards. A thread that waits keeps its old
/// copy until something comes, and decides that by the new one.
package final class SharedAccessList: Sendable {
    private let list: Mutex<AccessList>

    package init(_ list: AccessList) { self.list = Mutex(list) }

    package var current: AccessList { list.withLock { $0 } }

    /// Takes effect with the next generation of the policy.
    package func replace(with list: AccessList) { self.list.withLock { $0 = list } }
}
