import Glibc
import Logs
import Platform
import Scheduling
import TestServers
import TestSupport
import Testing

@testable import DNSServer

/// Which certificate is in use while its files change.
@Suite(.onLoop, .serialized) struct CertificateKeeperTests {
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

    /// The files with a response of OCSP for the certificate, of this day.
    private func withResponse() throws -> TLSFiles {
        var files = files
        files.ocsp = directory.path + "/c.ocsp"
        try certificates.respond(for: files.certificate, to: files.ocsp)
        return files
    }

    /// Puts a certificate and its key in the place of the files, as tools of renewal do.
    private func replace(_ leaf: TestCertificates.Leaf, in files: TLSFiles? = nil) throws {
        let files = files ?? self.files
        for (from, to) in [(leaf.certificate, files.certificate), (leaf.key, files.key)] {
            try ChildProcess.succeed(["sh", "-c", "cp '\(from)' '\(to).new' && mv '\(to).new' '\(to)'"])
        }
    }

    @Loop
    private func keeper(
        _ terms: TLSTerms, _ recorder: LogRecorder, by clock: any LoopClock = TestServer.loop, time: Int64? = nil
    ) throws -> CertificateKeeper {
        let loop = TestServer.loop
        return CertificateKeeper(
            try files.read(), for: terms, on: loop, clock: clock, events: EventLog(recorder.logger, clock: loop),
            time: { time ?? terms.context?.validity.lowerBound ?? 0 })
    }

    @Loop
    @Test func `files that were replaced are used from then on`() async throws {
        let (terms, recorder) = (TLSTerms(), LogRecorder())
        let keeper = try keeper(terms, recorder)
        defer { keeper.stop() }
        let first = terms.context
        #expect(first != nil)
        try replace(try certificates.leaf(names: ["two"]))
        await awaited { terms.context !== first }
        #expect(keeper.problem == nil)
        #expect(recorder.lines.last == "\(files.certificate) is in use")
    }

    @Loop
    @Test func `files that a reload names are used from then on, the same ones too, and watched`() async throws {
        let (terms, recorder) = (TLSTerms(), LogRecorder())
        let keeper = try keeper(terms, recorder)
        defer { keeper.stop() }
        let leaf = try certificates.leaf(names: ["two"])
        let other = TLSFiles(certificate: leaf.certificate, key: leaf.key)
        for _ in 0..<2 {
            let before = terms.context
            keeper.take(other)
            await awaited { terms.context !== before }
        }
        #expect(recorder.lines.count { $0 == "\(leaf.certificate) is in use" } == 2)
        let before = terms.context
        try replace(try certificates.leaf(names: ["three"]), in: other)
        await awaited { terms.context !== before }
        #expect(keeper.files == other && keeper.problem == nil)
    }

    @Loop
    @Test func `files that do not belong together change nothing, and are reported`() async throws {
        let (terms, recorder) = (TLSTerms(), LogRecorder())
        let keeper = try keeper(terms, recorder)
        defer { keeper.stop() }
        let first = terms.context
        let other = try certificates.leaf(names: ["two"])
        try ChildProcess.succeed(["cp", other.key, files.key])
        await awaited { keeper.problem != nil }
        #expect(terms.context === first)
        #expect(!recorder.lines.contains { $0.hasSuffix("is in use") })
        #expect(
            recorder.lines.contains(
                "\(files.key): is not the key of the certificate in \(files.certificate); the certificate before stays in use"
            ))
        // Its certificate follows.
        try ChildProcess.succeed(["cp", other.certificate, files.certificate])
        await awaited { keeper.problem == nil }
        #expect(terms.context !== first)
    }

    @Loop
    @Test(
        arguments: [
            (14 * 86_400, nil), (14 * 86_400 - 1, "expires in 13 days"), (0, "expires in 0 days"),
            (-1, "has expired, and clients refuse it"),
        ] as [(Int64, String?)])
    func `the end of a certificate is warned of two weeks before`(left: Int64, text: String?) throws {
        let (terms, recorder) = (TLSTerms(), LogRecorder())
        let end = try TLSContext(try files.read(), at: 0).validity.upperBound
        try keeper(terms, recorder, time: end - left).stop()
        #expect(recorder.lines == (text.map { ["\(files.certificate) \($0): renew it"] } ?? []))
    }

    @Loop
    @Test func `a response of OCSP is no longer stapled once it is stale, which is reported`() throws {
        let (terms, recorder) = (TLSTerms(), LogRecorder())
        let files = try withResponse()
        let (loop, clock) = (TestServer.loop, TestTime())
        let keeper = CertificateKeeper(
            try files.read(), for: terms, on: loop, clock: loop, events: EventLog(recorder.logger, clock: loop),
            time: { clock.seconds })
        defer { keeper.stop() }
        #expect(keeper.problem == nil && !recorder.lines.contains { $0.contains(files.ocsp) })
        #expect(terms.context?.unstapled == nil && terms.context?.responseChanges != nil)
        // It holds for a day, and what there is then is as it was read now.
        clock.seconds += 2 * 86_400
        keeper.renew()
        #expect(keeper.problem == .init(file: files.ocsp, reason: "has expired"))
        #expect(
            recorder.lines.contains(
                "\(files.ocsp): has expired; the certificate is in use without a response of OCSP"))
        #expect(terms.context != nil)
    }

    @Loop
    @Test func `a response of OCSP that is none holds up no new certificate`() async throws {
        let (terms, recorder) = (TLSTerms(), LogRecorder())
        let files = try withResponse()
        let loop = TestServer.loop
        let keeper = CertificateKeeper(
            try files.read(), for: terms, on: loop, clock: loop, events: EventLog(recorder.logger, clock: loop),
            time: { TestTime().seconds })
        defer { keeper.stop() }
        let first = terms.context
        try directory.write("<html>502</html>", to: "c.ocsp")
        try replace(try certificates.leaf(names: ["two"]))
        await awaited { terms.context !== first && keeper.problem != nil }
        #expect(keeper.problem?.reason == "is no response of OCSP in DER")
        #expect(recorder.lines.last == "\(files.certificate) is in use")
        // The response of the certificate before is none for this one.
        try certificates.respond(for: try certificates.leaf(names: ["one"]).certificate, to: files.ocsp)
        await awaited { keeper.problem?.reason == "is for another certificate" }
        try certificates.respond(for: files.certificate, to: files.ocsp)
        await awaited { keeper.problem == nil }
        #expect(terms.context?.unstapled == nil)
    }

    @Loop
    @Test func `session tickets have new keys after a day, and the next after another`() async throws {
        let (terms, recorder, clock) = (TLSTerms(), LogRecorder(), ManualClock())
        let keeper = try keeper(terms, recorder, by: clock)
        defer { keeper.stop() }
        for _ in 0..<2 {
            let before = terms.context
            await clock.advance(by: .seconds(24 * 3_600 - 1))
            #expect(terms.context === before)
            await clock.advance(by: .seconds(1))
            #expect(terms.context !== before)
        }
    }

    @Loop
    @Test func `files that change are read half a second after the last change, not before`() async throws {
        let (terms, recorder, clock) = (TLSTerms(), LogRecorder(), ManualClock())
        let keeper = try keeper(terms, recorder, by: clock)
        defer { keeper.stop() }
        let first = terms.context
        try replace(try certificates.leaf(names: ["two"]))
        await awaited { clock.nextDue == clock.now + .milliseconds(500) }
        await clock.advance(by: .milliseconds(499))
        #expect(clock.nextDue == clock.now + .milliseconds(1) && terms.context === first)
        await clock.advance(by: .milliseconds(1))
        await awaited { terms.context !== first }
    }

    /// A time of day that tests change.
    @Loop private final class TestTime: Sendable {
        var seconds = Int64(time(nil))
    }
}
