/// The transport protocol of a listener.
package enum Transport: String, CaseIterable, Sendable {
    case udp = "UDP"
    case tcp = "TCP"
    /// DNS over TLS (RFC 7858).
    case tls = "DoT"
    /// DNS over HTTPS (RFC 8484).
    case https = "DoH"

    /// Whether it cannot be read on the path.
    package var isEncrypted: Bool { self == .tls || self == .https }

    /// How logs, metrics and listings name it.
    package var label: String { rawValue.lowercased() }
}
