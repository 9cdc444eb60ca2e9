package import DNSWire

/// Where a kept answer came from, and what it is worth now.
package struct Provenance: Hashable, Sendable {
    package enum State: String, Sendable {
        case fresh, stale
        /// Too old, or told by a source or by a route that is no longer in force: it is not served.
        case unusable
    }

    /// Whether the addresses that LocalDNS told of a protected name are proven.
    enum Check: String, Sendable {
        case verified, unverified
    }

    package var type: RecordType
    package var route: Route
    /// What the source is called; empty when it is no longer there.
    package var source: String
    /// The server of the source that told it; empty when there was none.
    package var server: String
    package var state: State
    /// What certificates say of its addresses; nil where nobody looks: at what providers told, and at unprotected names.
    var check: Check?
    /// Seconds since it was stored.
    package var age: UInt32
    /// Seconds until it is stale.
    package var remaining: UInt32

    /// One line of `key=value` words.
    package var text: String {
        let words = [
            "type=\(type)", "route=\(route)", source.isEmpty ? nil : "source=\(source)",
            server.isEmpty ? nil : "server=\(server)", check.map { "check=\($0)" }, "state=\(state)", "age=\(age)",
            state == .fresh ? "ttl=\(remaining)" : nil,
        ]
        return words.compactMap { $0 }.joined(separator: " ")
    }
}

extension HijackJournal.Entry {
    /// One line of `key=value` words on an address that LocalDNS gave and that is not the name's; the reason comes last.
    var provenanceText: String {
        let words = [
            "check=wrong-certificate", "address=\(address)", "port=\(port)", "seen=\(count)",
            evidence.fingerprint.isEmpty ? nil : "sha256=\(evidence.fingerprint)", "reason=\(evidence)",
        ]
        return words.compactMap { $0 }.joined(separator: " ")
    }
}
