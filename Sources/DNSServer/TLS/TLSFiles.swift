import Platform

/// The files that a server's side of TLS is made of, by their paths.
package struct TLSFiles: Equatable, Sendable {
    /// PEM: the server's certificate, then those that lead to its authority.
    package var certificate: String
    /// PEM: its private key.
    package var key: String
    /// PEM: authorities of clients' certificates; empty: clients present none.
    package var clientAuthorities: String

    package init(certificate: String, key: String, clientAuthorities: String = "") {
        (self.certificate, self.key, self.clientAuthorities) = (certificate, key, clientAuthorities)
    }

    /// Those that there are.
    package var paths: [String] { [certificate, key, clientAuthorities].filter { !$0.isEmpty } }

    /// Why they cannot be used: the path of a file, and what is wrong with it.
    package struct Problem: Error, Equatable, CustomStringConvertible {
        package let file: String
        package let reason: String

        package var description: String { "\(file): \(reason)" }
    }

    /// The bytes of the files.
    package struct Content: Sendable {
        package let files: TLSFiles
        let certificate: [UInt8]
        let key: [UInt8]
        let clientAuthorities: [UInt8]
    }

    /// The most bytes of a file: some hundred authorities.
    private static let longest = 1 << 20

    /// Reads all of them. May block.
    package func read() throws(Problem) -> Content {
        Content(
            files: self, certificate: try Self.read(certificate), key: try Self.read(key),
            clientAuthorities: try Self.read(clientAuthorities))
    }

    private static func read(_ path: String) throws(Problem) -> [UInt8] {
        guard !path.isEmpty else { return [] }
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try readFile(path, limit: longest + 1, isRegular: true)
        } catch {
            throw Problem(file: path, reason: "cannot be read: \(error.reason)")
        }
        guard !bytes.isEmpty else { throw Problem(file: path, reason: "is empty") }
        guard bytes.count <= longest else { throw Problem(file: path, reason: "is larger than 1 MiB") }
        return bytes
    }
}
