package import DNSWire
import Synchronization

/// The configuration's rules about clients: which ones are answered, and which client networks services receive.
package struct ClientRules: Sendable {
    package var access: AccessList
    /// Nil while no service receives client networks.
    package var scoping: ClientScoping?
    /// Clients over HTTPS that have one of these are answered whatever `access` says.
    package var tokens: AccessTokens

    package init(access: AccessList, scoping: ClientScoping? = nil, tokens: AccessTokens = AccessTokens()) {
        self.access = access
        self.scoping = scoping
        self.tokens = tokens
    }
}

/// The rules about clients in force, shared by all threads and replaced by a reload.
///
/// Each thread has a copy of the access list. Once for each batch of datagrams it checks whether the policy's
/// generation has changed; only then it takes the lock here and makes a new copy. So a hit costs nothing more, and no
/// memory is freed that a thread may still use. The code that replaces the rules raises the generation afterwards. A
/// waiting thread keeps its old copy until a datagram arrives, and decides that one by the new copy.
package final class SharedClientRules: Sendable {
    private let list: Mutex<AccessList>
    private let allTokens: Mutex<AccessTokens>
    /// 0: no scoping. Read on a miss only, and not copied: a larger handler makes every hit slower.
    private let scopingBits: Atomic<Int>
    /// Here, and not in the handlers: a larger handler makes every hit slower.
    let refused = RefusedClients()

    package init(_ rules: ClientRules) {
        list = Mutex(rules.access)
        allTokens = Mutex(rules.tokens)
        scopingBits = Atomic(rules.scoping?.bits ?? 0)
    }

    package var access: AccessList { list.withLock { $0 } }

    package var tokens: AccessTokens { allTokens.withLock { $0 } }

    package var scoping: ClientScoping? {
        let bits = scopingBits.load(ordering: .acquiring)
        return bits > 0 ? ClientScoping(bits: bits) : nil
    }

    /// Takes effect with the next generation of the policy.
    package func replace(with rules: ClientRules) {
        list.withLock { $0 = rules.access }
        allTokens.withLock { $0 = rules.tokens }
        scopingBits.store(rules.scoping?.bits ?? 0, ordering: .releasing)
    }
}
