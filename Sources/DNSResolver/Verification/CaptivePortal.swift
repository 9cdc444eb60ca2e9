package import DNSWire

/// Detects what looks like a captive portal: LocalDNS gives one address for unrelated names, or addresses of unrelated
/// names show one certificate, as where the network intercepts connections.
///
/// A hijacker that also blocks HTTPDNS looks the same. Shown in `status` while no provider can be reached; decides nothing.
package enum CaptivePortal {
    /// What unrelated names have in common.
    package enum Sign: Hashable, Sendable {
        /// LocalDNS gives this address for them.
        case address(IPAddress)
        /// Their addresses, which differ, show the certificate with this SHA-256 in hexadecimal.
        case certificate(String)
    }

    /// Seconds after which a forged address is no longer evidence about the present network.
    package static let memory: Int64 = 120

    /// What unrelated names had in common lately.
    ///
    /// - Parameters:
    ///   - entries: forged addresses, the one seen last first.
    ///   - now: seconds since 1970.
    /// - Returns: nil unless it was seen, within `memory`, of two names whose last two labels differ.
    package static func sign(in entries: [HijackedAddress], now: Int64) -> Sign? {
        var names: [IPAddress: Name] = [:]
        var certificates: [String: HijackedAddress] = [:]
        var shared: String?
        for entry in entries where entry.last > now - memory && entry.last <= now {
            if let other = names[entry.address], !areRelated(entry.name, other) { return .address(entry.address) }
            names[entry.address] = names[entry.address] ?? entry.name
            guard !entry.evidence.fingerprint.isEmpty else { continue }
            let other = certificates[entry.evidence.fingerprint] ?? entry
            if other.address != entry.address, !areRelated(entry.name, other.name) {
                shared = shared ?? entry.evidence.fingerprint
            }
            certificates[entry.evidence.fingerprint] = other
        }
        return shared.map(Sign.certificate)
    }

    /// Whether unrelated names, two of these, have shown this certificate.
    static func isShared(_ certificate: String, in sightings: [HijackedAddress]) -> Bool {
        guard !certificate.isEmpty else { return false }
        let names = sightings.filter { $0.evidence.fingerprint == certificate }.map(\.name)
        return names.contains { !areRelated($0, names[0]) }
    }

    /// Whether their last two labels are the same: mostly one owner, or one site.
    private static func areRelated(_ first: Name, _ second: Name) -> Bool { first.owner == second.owner }
}
