package import DNSWire
import Glibc
import Synchronization

/// The configuration's rules about clients: which ones are answered, and which client networks services receive.
package struct ClientRules: Sendable {
    package var access: AccessList
    /// Nil while no service receives client networks.
    package var scoping: ClientScoping?
    /// Clients over HTTPS that have one of these are answered whatever `access` says.
    package var tokens: AccessTokens
    /// Nil: with secrets of this process.
    package var cookies: ServerCookies?
    /// Responses a second over UDP to a public client network without a cookie; 0: any number.
    package var datagramRate: Int

    package init(
        access: AccessList, scoping: ClientScoping? = nil, tokens: AccessTokens = AccessTokens(),
        cookies: ServerCookies? = nil, datagramRate: Int = 0
    ) {
        self.access = access
        self.scoping = scoping
        self.tokens = tokens
        self.cookies = cookies
        self.datagramRate = datagramRate
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
    /// Clients that have to ask over TCP.
    let limited = RefusedClients()
    let datagramRate: DatagramRate
    private let ownCookies = ServerCookies()
    private let sharedCookies: Mutex<ServerCookies?>

    package init(_ rules: ClientRules) {
        datagramRate = DatagramRate(rules.datagramRate)
        sharedCookies = Mutex(rules.cookies)
        list = Mutex(rules.access)
        allTokens = Mutex(rules.tokens)
        scopingBits = Atomic(rules.scoping?.bits ?? 0)
    }

    package var access: AccessList { list.withLock { $0 } }

    package var tokens: AccessTokens { allTokens.withLock { $0 } }

    /// The cookie with which a query is answered, and whether the one that it has was valid; nil: it has none.
    func cookie(
        of query: Query, in message: Span<UInt8>, from client: IPAddress
    ) -> (cookie: Cookie, isValid: Bool)? {
        let cookies = sharedCookies.withLock { $0 } ?? ownCookies
        return cookies.answer(query, in: message, from: client, at: UInt32(truncatingIfNeeded: time(nil)))
    }

    package var scoping: ClientScoping? {
        let bits = scopingBits.load(ordering: .acquiring)
        return bits > 0 ? ClientScoping(bits: bits) : nil
    }

    /// Takes effect with the next generation of the policy.
    package func replace(with rules: ClientRules) {
        list.withLock { $0 = rules.access }
        allTokens.withLock { $0 = rules.tokens }
        sharedCookies.withLock { $0 = rules.cookies }
        datagramRate.set(rules.datagramRate)
        scopingBits.store(rules.scoping?.bits ?? 0, ordering: .releasing)
    }
}
