public import DNSWire

/// A name, an address that is not its own, and the evidence that was last seen there.
public struct HijackedAddress: Hashable, Sendable {
    public let name: Name
    public let address: IPAddress
    /// The server of LocalDNS that gave it last; empty when that is not known.
    public let server: String
    public let port: UInt16
    public let evidence: CertificateEvidence
    /// Seconds since 1970.
    public internal(set) var first: Int64
    public let last: Int64
    /// How many checks failed.
    public internal(set) var count: Int

    public init(
        name: Name, address: IPAddress, server: String = "", port: UInt16, evidence: CertificateEvidence, first: Int64,
        last: Int64, count: Int
    ) {
        self.name = name
        self.address = address
        self.server = server
        self.port = port
        self.evidence = evidence
        self.first = first
        self.last = last
        self.count = count
    }

    /// Whether another entry is of the same name and address.
    func isSame(as other: HijackedAddress) -> Bool { name == other.name && address == other.address }
}

/// Detects what looks like a captive portal: LocalDNS gives one address for unrelated names, or addresses of unrelated
/// names show one certificate, as where the network intercepts connections.
///
/// A hijacker that also blocks HTTPDNS looks the same. Shown in `status` while no provider can be reached; decides nothing.
public enum CaptivePortal {
    /// What unrelated names have in common.
    public enum Sign: Hashable, Sendable {
        /// LocalDNS gives this address for them.
        case address(IPAddress)
        /// Their addresses, which differ, show the certificate with this SHA-256 in hexadecimal.
        case certificate(String)
    }

    /// Seconds after which a forged address is no longer evidence about the present network.
    public static let memory: Int64 = 120

    /// What unrelated names had in common lately.
    ///
    /// - Parameters:
    ///   - entries: forged addresses, the one seen last first.
    ///   - now: seconds since 1970.
    /// - Returns: nil unless it was seen, within `memory`, of two names whose last two labels differ.
    public static func sign(in entries: [HijackedAddress], now: Int64) -> Sign? {
        let recent = entries.filter { $0.last > now - memory && $0.last <= now }
        let shared = recent.first { entry in areUnrelated(recent.filter { $0.address == entry.address }) }
        if let shared { return .address(shared.address) }
        return recent.map(\.evidence.fingerprint).first { isShared($0, in: recent) }.map { .certificate($0) }
    }

    /// Whether unrelated names have shown this certificate.
    static func isShared(_ certificate: String, in sightings: [HijackedAddress]) -> Bool {
        !certificate.isEmpty && areUnrelated(sightings.filter { $0.evidence.fingerprint == certificate })
    }

    /// Whether the last two labels of the names differ: mostly those that share them have one owner, or are one site.
    private static func areUnrelated(_ sightings: [HijackedAddress]) -> Bool {
        sightings.contains { $0.name.owner != sightings[0].name.owner }
    }
}
