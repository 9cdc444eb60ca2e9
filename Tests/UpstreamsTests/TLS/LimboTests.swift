import TestSupport
import Testing

/// The cases of x509-limbo that are of a server's certificate, judged by both ways that this program verifies a server,
/// and by the `openssl` command, which is the reference. Not on the loop: the server and the command block the thread.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct LimboTests {
    /// The verdicts on a case.
    private struct Verdicts {
        let id: String
        /// Of the `openssl` command.
        let openssl: Bool
        /// This program's, by the way; nil for a certificate that no server can present.
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
            do { ours = try await certificate.verdicts(as: limbo.host) } catch is MadeCertificate.NotPresentable {}
            all.append(Verdicts(id: limbo.id, openssl: reference, ours: ours))
        }
        return all
    }

    private static func ids(where isSo: (Verdicts) -> Bool) async throws -> [String] {
        try await judged.value.filter(isSo).map(\.id).sorted()
    }

    private func listed(_ table: [String: [String]]) -> [String] { table.values.joined().sorted() }

    @Test func `every case gets a verdict, but for those that no server can present`() async throws {
        #expect(try await Self.judged.value.count == 164)
        #expect(try await Self.ids { $0.ours == nil } == listed(LimboDifferences.notPresentable))
    }

    @Test func `nothing is accepted that openssl refuses`() async throws {
        #expect(try await Self.ids { !$0.openssl && $0.ours?.values.contains(true) == true } == [])
    }

    @Test func `all is accepted that openssl accepts, but for what is listed`() async throws {
        let refused = try await Self.ids { $0.openssl && $0.ours?.values.contains(false) == true }
        #expect(refused == listed(LimboDifferences.stricterThanOpenSSL))
    }
}
