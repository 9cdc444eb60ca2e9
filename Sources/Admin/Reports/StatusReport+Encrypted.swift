package import HTTPDNS

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

        package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "tls": tls = try reader.strings()
            case "https": https = try reader.strings()
            case "name": name = try reader.string()
            case "tls_port": tlsPort = try reader.int()
            case "url": url = try reader.string()
            case "template": template = try reader.string()
            case "addresses": addresses = try reader.strings()
            case "certificate": certificate = try reader.string()
            case "expires": expires = try reader.string()
            case "expires_seconds": expiresAt = try reader.int()
            case "problem": problem = try reader.string()
            case "connections": connections = try reader.int()
            case "handshakes": full = try reader.int()
            case "handshakes_resumed": resumed = try reader.int()
            case "handshakes_failed": failed = try reader.int()
            default: break
            }
        }

        package func write(to writer: inout JSONWriter) {
            writer.member("tls", strings: tls)
            writer.member("https", strings: https)
            writer.member("name", name)
            writer.member("tls_port", tlsPort)
            writer.member("url", url)
            writer.member("template", template)
            writer.member("addresses", strings: addresses)
            writer.member("certificate", certificate)
            writer.member("expires", expires)
            writer.member("expires_seconds", expiresAt)
            writer.member("problem", problem)
            writer.member("connections", connections)
            writer.member("handshakes", full)
            writer.member("handshakes_resumed", resumed)
            writer.member("handshakes_failed", failed)
        }

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
