package import DNSCache
package import DNSResolver
package import DNSWire
package import Scheduling

/// The shared answers as one policy may use them: `SharedStore` holds those of every policy, each under its own names.
@Loop
package final class SharedCache: SharedAnswers {
    /// Bytes of a policy's digest.
    private nonisolated static let policyLength = 16

    package nonisolated let store: SharedStore
    /// What the policy is called: another one wherever an answer may be another one.
    private nonisolated let policy: [UInt8]
    private nonisolated let freshness: FreshnessPolicy

    /// - Parameters:
    ///   - policy: which providers may decide, and all that their answers depend on; the same text on every server of the
    ///     fleet.
    ///   - freshness: by which TTLs are raised and cut before answers are shared.
    package nonisolated init(_ store: SharedStore, policy: String, freshness: FreshnessPolicy) {
        self.store = store
        self.freshness = freshness
        // Without SHA-256 in the library there is no sealing either.
        let digest = OpenSSLCrypto().sha256(Array(policy.utf8)) ?? []
        self.policy = Array((digest + [UInt8](repeating: 0, count: Self.policyLength)).prefix(Self.policyLength))
    }

    package func begin(
        _ key: FlightKey, _ types: [RecordType], done: @escaping @Loop ([SharedAnswer]) -> Void
    ) -> (any SharedLookup)? {
        guard store.hasTime() else { return nil }
        let question = SharedQuestion(key, types, policy: policy)
        guard let lookup = RedisLookup(question, in: store, freshness: freshness, done: done) else {
            store.counters.skipped += 1
            return nil
        }
        return lookup
    }

    /// Removes the addresses and service bindings of a name, for all servers. Those for single client networks stay until
    /// their TTL ends.
    package func remove(_ name: Name) {
        for types in [[RecordType.a, .aaaa], [.a], [.aaaa], [.https]] {
            for scope in [nil, ClientScope.undisclosed] {
                for (dnssecOK, checkingDisabled) in [(false, false), (true, false), (false, true), (true, true)] {
                    let key = FlightKey(
                        name: name.lowercased, type: types[0], route: .protect(explicit: false), dnssecOK: dnssecOK,
                        checkingDisabled: checkingDisabled, scope: scope)
                    store.remove(SharedQuestion(key, types, policy: policy))
                }
            }
        }
    }
}
