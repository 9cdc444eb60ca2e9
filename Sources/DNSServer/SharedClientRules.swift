package import DNSWire
import Synchronization

/// What the configuration says of clients: whom to answer, and whose networks services are told.
package struct ClientRules: Sendable {
    package var access: AccessList
    /// Nil while no service is told the networks of clients.
    package var scoping: ClientScoping?

    package init(access: AccessList, scoping: ClientScoping? = nil) {
        self.access = access
        self.scoping = scoping
    }
}

/// The rules about clients in force, for all threads: replaced by a reload.
///
/// Each thread has a copy of the access list, and looks once for each batch of datagrams whether the policy's generation
/// has changed; only then does it take the lock here and make a new copy. So a hit costs nothing more, and there is nothing
/// to free that a thread may still use. Whoever replaces the rules raises the generation afterwards. A thread that waits
/// keeps its old copy until something comes, and decides that by the new one.
package final class SharedClientRules: Sendable {
    private let list: Mutex<AccessList>
    /// 0: no scoping. Read on a miss only, and not copied: handlers that carry it make every hit dearer.
    private let scopingBits: Atomic<Int>

    package init(_ rules: ClientRules) {
        list = Mutex(rules.access)
        scopingBits = Atomic(rules.scoping?.bits ?? 0)
    }

    package var access: AccessList { list.withLock { $0 } }

    package var scoping: ClientScoping? {
        let bits = scopingBits.load(ordering: .acquiring)
        return bits > 0 ? ClientScoping(bits: bits) : nil
    }

    /// Takes effect with the next generation of the policy.
    package func replace(with rules: ClientRules) {
        list.withLock { $0 = rules.access }
        scopingBits.store(rules.scoping?.bits ?? 0, ordering: .releasing)
    }
}
