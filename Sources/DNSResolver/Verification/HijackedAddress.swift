package import DNSWire

/// A name, an address that is not its own, and the evidence that was last seen there.
package struct HijackedAddress: Hashable, Sendable {
    package let name: Name
    package let address: IPAddress
    /// The server of LocalDNS that gave it last; empty when that is not known.
    package var server: String
    package var port: UInt16
    package var evidence: CertificateEvidence
    /// Seconds since 1970.
    package let first: Int64
    package var last: Int64
    /// How many checks failed.
    package var count: Int

    package init(
        name: Name, address: IPAddress, server: String = "", port: UInt16, evidence: CertificateEvidence, first: Int64,
        last: Int64,
        count: Int
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
}
