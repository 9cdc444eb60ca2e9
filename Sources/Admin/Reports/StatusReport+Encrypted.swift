extension StatusReport {
    /// The encrypted listeners and their certificate.
    package struct Encrypted: JSONRecord {
        /// Where DNS over TLS and over HTTPS are served.
        package var tls: [String] = []
        package var https: [String] = []
        /// What clients enter: the name of the server (`listen.name`), the port of DNS over TLS, the URL of DNS over HTTPS
        /// plain and as a template, the addresses. Empty and 0: not known, or not served.
        package var name = ""
        package var tlsPort = 0
        package var url = ""
        package var template = ""
        package var addresses: [String] = []
        /// The file of the certificate.
        package var certificate = ""
        /// When the certificate in use expires, such as `2030-01-31T00:00:00Z`, and in seconds since 1970; empty and 0: none
        /// is in use.
        package var expires = ""
        package var expiresAt = 0
        /// Why the files as they are now are not in use; empty: they are.
        package var problem = ""
        /// Open connections, those in their handshake included.
        package var connections = 0
        /// Handshakes since the start: with the certificate, resumed, and failed.
        package var full = 0
        package var resumed = 0
        package var failed = 0

        package init() {}

        package static let members: [JSONMember<Self>] = [
            .init("tls", strings: \.tls),
            .init("https", strings: \.https),
            .init("name", \.name),
            .init("tls_port", \.tlsPort),
            .init("url", \.url),
            .init("template", \.template),
            .init("addresses", strings: \.addresses),
            .init("certificate", \.certificate),
            .init("expires", \.expires),
            .init("expires_seconds", \.expiresAt),
            .init("problem", \.problem),
            .init("connections", \.connections),
            .init("handshakes", \.full),
            .init("handshakes_resumed", \.resumed),
            .init("handshakes_failed", \.failed),
        ]

        /// For a table of two columns.
        var rows: [[String]] {
            let places = [("DoT", tls), ("DoH", https)].filter { !$0.1.isEmpty }
                .map { "\($0.0) on \($0.1.joined(separator: ", "))" }
            var rows = [["encrypted", "\(places.joined(separator: "; ")): \(counted(connections, "connection"))"]]
            rows.append(["", expires.isEmpty ? "NO CERTIFICATE is in use" : "\(certificate), expires \(expires)"])
            if !problem.isEmpty { rows.append(["", "PROBLEM: \(problem)"]) }
            return rows
        }
    }
}
