import Foundation
import TestSupport

/// An HTTPS server of one document that does what a server should not (`Tests/Servers/document.py`); killed when the last
/// reference is released.
package final class HostileSite: Sendable {
    private let server: ScriptServer
    private let host: String

    /// Starts it on 127.0.0.1.
    ///
    /// - Parameters:
    ///   - host: its name, or an address, in URLs.
    ///   - document: what it serves.
    ///   - other: what it serves where it should serve nothing.
    ///   - target: where it sends clients over plain http.
    package init(_ leaf: TestCertificates.Leaf, host: String, document: String, other: String, target: String) throws {
        self.host = host
        server = try ScriptServer(
            "document.py", leaf, files: ["document": document, "other": other, "target": target])
    }

    /// The URL of a path.
    package func url(_ path: String) -> String { "https://\(host):\(server.port)\(path)" }

    /// Serves another document from now on.
    package func serve(_ document: String) throws { try server.directory.write(document, to: "document") }
}
