import Logs
import Platform
import Scheduling
import TestSupport
import Testing

@testable import DNSServer

/// Which certificate is in use while its files change.
@Suite(.serialized) struct CertificateKeeperTests {
    private let certificates: TestCertificates
    private let directory: TemporaryDirectory

    init() throws {
        certificates = try TestCertificates()
        directory = try TemporaryDirectory()
        try replace(try certificates.leaf(names: ["one"]))
    }

    private var files: TLSFiles {
        TLSFiles(certificate: directory.path + "/c.pem", key: directory.path + "/k.pem")
    }

    /// Puts a certificate and its key in the place of the files, as tools of renewal do.
    private func replace(_ leaf: TestCertificates.Leaf) throws {
        for (from, to) in [(leaf.certificate, files.certificate), (leaf.key, files.key)] {
            try ChildProcess.succeed(["sh", "-c", "cp '\(from)' '\(to).new' && mv '\(to).new' '\(to)'"])
        }
    }

    @Loop
    private func keeper(_ terms: TLSTerms, _ recorder: LogRecorder, time: Int64? = nil) throws -> CertificateKeeper {
        let loop = TestServer.loop
        return CertificateKeeper(
            try files.read(), for: terms, on: loop, events: EventLog(recorder.logger, clock: loop),
            time: { time ?? terms.context?.validity.lowerBound ?? 0 })
    }

    @Loop
    private func until(_ condition: @Loop () -> Bool) async {
        while !condition() { await TestServer.loop.sleep(until: TestServer.loop.now + .milliseconds(1)) }
    }

    @Loop
    @Test func `files that were replaced are used from then on`() async throws {
        let (terms, recorder) = (TLSTerms(), LogRecorder())
        let keeper = try keeper(terms, recorder)
        defer { keeper.stop() }
        let first = terms.context
        #expect(first != nil)
        try replace(try certificates.leaf(names: ["two"]))
        await until { terms.context !== first }
        #expect(keeper.problem == nil)
        #expect(recorder.lines.last == "\(files.certificate) is in use")
    }

    @Loop
    @Test func `files that do not belong together change nothing, and are reported`() async throws {
        let (terms, recorder) = (TLSTerms(), LogRecorder())
        let keeper = try keeper(terms, recorder)
        defer { keeper.stop() }
        let first = terms.context
        let other = try certificates.leaf(names: ["two"])
        try ChildProcess.succeed(["cp", other.key, files.key])
        await until { keeper.problem != nil }
        #expect(terms.context === first)
        #expect(
            recorder.lines.contains(
                "\(files.key): is not the key of the certificate in \(files.certificate); the certificate before stays in use"
            ))
        // Its certificate follows.
        try ChildProcess.succeed(["cp", other.certificate, files.certificate])
        await until { keeper.problem == nil }
        #expect(terms.context !== first)
    }

    @Loop
    @Test(arguments: [(15, false), (13, true), (-1, true)])
    func `the end of a certificate is warned of two weeks before`(days: Int64, isWarned: Bool) throws {
        let (terms, recorder) = (TLSTerms(), LogRecorder())
        let end = try TLSContext(try files.read()).validity.upperBound
        try keeper(terms, recorder, time: end - days * 86_400 - 60).stop()
        #expect(recorder.lines.contains { $0.contains("renew it") } == isWarned)
    }
}
