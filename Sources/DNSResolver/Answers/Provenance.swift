package import DNSWire

/// The origin of a cached answer, and whether it may still be served.
package struct Provenance: Hashable, Sendable {
    package enum State: String, Sendable {
        case fresh, stale
        /// Too old, or from a source or by a route that is no longer in force: it is not served.
        case unusable
    }

    package var type: RecordType
    package var route: Route
    package var source: SourceName
    /// The server of the source that answered; empty when there was none.
    package var server: String
    package var state: State
    /// Whether its addresses were made of the name's IPv4 addresses (DNS64).
    var isTranslated = false
    /// Seconds since it was stored.
    package var age: UInt32
    /// Seconds until it is stale.
    package var remaining: UInt32

    /// One line of `key=value` words.
    package var text: String {
        let words = [
            "type=\(type)", "route=\(route)", source.pairs, server.isEmpty ? nil : "server=\(server)",
            isTranslated ? "made=dns64" : nil, "state=\(state)", "age=\(age)",
            state == .fresh ? "ttl=\(remaining)" : nil,
        ]
        return words.compactMap { $0 }.joined(separator: " ")
    }
}

extension HijackedAddress {
    /// One line of `key=value` words on an address that LocalDNS gave and that is not the name's; the reason is last.
    var provenanceText: String {
        let words = [
            "check=wrong-certificate", "address=\(address)", "port=\(port)", "seen=\(count)",
            evidence.fingerprint.isEmpty ? nil : "sha256=\(evidence.fingerprint)", "reason=\(evidence)",
        ]
        return words.compactMap { $0 }.joined(separator: " ")
    }
}
