import Foundation
import TestSupport
import Testing

/// The cases of x509-limbo that are of a server's certificate, judged by both ways that this program verifies a server,
/// and by the `openssl` command, which is the reference. Not on the loop: the server and the command block the thread.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct LimboTests {
    // What a test waits for may be done on the loop.
    init() { _ = LoopRunner.shared }

    /// The verdicts on a case.
    private struct Verdicts {
        let id: String
        /// Of the `openssl` command.
        let openssl: Bool
        /// This program's, by the way; nil where a handshake ends before the certificate is judged.
        let ours: [String: Bool]?
    }

    /// Of all cases, once for all tests.
    private static let judged = Task {
        var all: [Verdicts] = []
        for limbo in try LimboCase.all() {
            let directory = try TemporaryDirectory()
            let certificate = try limbo.write(in: directory)
            let reference = try certificate.isAccepted(as: limbo.host)
            var ours: [String: Bool]?
            do { ours = try await certificate.verdicts(as: limbo.host) } catch is MadeCertificate.NotJudged {}
            all.append(Verdicts(id: limbo.id, openssl: reference, ours: ours))
        }
        return all
    }

    private static func ids(where isSo: (Verdicts) -> Bool) async throws -> [String] {
        try await judged.value.filter(isSo).map(\.id).sorted()
    }

    private func listed(_ table: [String: [String]]) -> [String] { table.values.joined().sorted() }

    @Test func `every case is judged, but for those whose handshake ends before`() async throws {
        #expect(try await Self.judged.value.count == 164)
        #expect(try await Self.ids { $0.ours == nil } == listed(LimboDifferences.notJudged))
    }

    @Test func `nothing is accepted that openssl refuses`() async throws {
        #expect(try await Self.ids { !$0.openssl && $0.ours?.values.contains(true) == true } == [])
    }

    @Test func `all is accepted that openssl accepts, but for what is listed`() async throws {
        let refused = try await Self.ids { $0.openssl && $0.ours?.values.contains(false) == true }
        #expect(refused == listed(LimboDifferences.stricterThanOpenSSL))
    }
}

/// A case of `x509-limbo/cases.json`.
private struct LimboCase: Decodable {
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

/// Where this program's verdicts on the cases of x509-limbo differ from the `openssl` command's, by the reason.
private enum LimboDifferences {
    /// The handshake ends before the certificate is judged: none is accepted.
    static let notJudged: [String: [String]] = [
        "OpenSSL does not load it": ["rfc5280::san::malformed", "rfc5280::duplicate-extensions"],
        "TLS has no signature by such a key": ["webpki::forbidden-p192-leaf", "webpki::forbidden-dsa-leaf"],
        "it has more than 32 KiB of certificates": [
            "pathological::nc-dos-1", "pathological::nc-dos-3",
            "pathological::pathological-chain-distinct-subject-distinct-key",
            "pathological::pathological-chain-distinct-subject-same-key",
            "pathological::pathological-chain-same-subject-distinct-key",
            "pathological::pathological-chain-same-subject-same-key",
        ],
    ]

    /// What one of this program's ways refuses and the `openssl` command accepts. There is nothing that only this
    /// program accepts.
    static let stricterThanOpenSSL: [String: [String]] = [
        "RFC 9525 section 2: the subject's common name is ignored": ["webpki::san::no-san", "webpki::v1-cert"],
        "RFC 9525 section 6.3: a wildcard stands for a whole label": ["webpki::san::wildcard-embedded-leftmost-san"],
        "the security level of TLS in Debian": [
            "webpki::forbidden-p192-root", "webpki::forbidden-weak-rsa-key-in-root",
            "webpki::forbidden-weak-rsa-in-leaf",
        ],
    ]
}
