import Foundation
import TestSupport

/// A case of `x509-limbo/cases.json`.
struct LimboCase: Decodable {
    let id: String
    /// The certificates in PEM: those that the client trusts, those that the server presents with its own, its own.
    let trusted: [String]
    let intermediates: [String]
    let leaf: String
    /// In PEM.
    let key: String
    /// The name or address for which the certificate is verified.
    let host: String
    /// Seconds since 1970; nil is now.
    let time: Int?

    /// The cases, in the file's order.
    static func all() throws -> [LimboCase] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../x509-limbo/cases.json")
        return try JSONDecoder().decode([LimboCase].self, from: Data(contentsOf: file))
    }

    /// Its files, which exist as long as the directory.
    func write(in directory: TemporaryDirectory) throws -> MadeCertificate {
        MadeCertificate(
            authority: try directory.write(trusted.joined(), to: "trusted.pem"),
            chain: try directory.write(([leaf] + intermediates).joined(), to: "chain.pem"),
            key: try directory.write(key, to: "key.pem"), time: time)
    }
}
