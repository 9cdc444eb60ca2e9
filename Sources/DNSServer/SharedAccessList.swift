import Synchronization

/// The access list in force, for all threads: replaced by a reload, copied by each thread when it sees a new generation.
///
/// A thread compares the policy's generation anyway for every hit; only when that has changed does it take the lock
/// here and replace its own copy. Whoever replaces the list must therefore raise the generation afterwards. An idle
/// thread keeps its old copy until its next query, which is decided by the new one.
package final class SharedAccessList: Sendable {
    private let list: Mutex<AccessList>

    package init(_ list: AccessList) { self.list = Mutex(list) }

    package var current: AccessList { list.withLock { $0 } }

    /// Takes effect with the next generation of the policy.
    package func replace(with list: AccessList) { self.list.withLock { $0 = list } }
}
