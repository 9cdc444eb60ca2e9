import DNSWire
import Glibc
import Platform
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

    /// Puts a certificate and its key in the place of the files, as tools of renewal do.
    private func replace(_ leaf: TestCertificates.Leaf, in files: TLSFiles? = nil) throws {
        let files = files ?? self.files
        for (from, to) in [(leaf.certificate, files.certificate), (leaf.key, files.key)] {
            try ChildProcess.succeed(["sh", "-c", "cp '\(from)' '\(to).new' && mv '\(to).new' '\(to)'"])
        }
    }

    @Loop private func keeper(
        _ terms: TLSTerms, _ recorder: LogRecorder, by clock: any LoopClock = TestServer.loop, time: Int64? = nil
    ) throws -> CertificateKeeper {
        let loop = TestServer.loop
        return CertificateKeeper(
            try files.read(), for: terms, on: loop, clock: clock, events: EventLog(recorder.logger, clock: loop),
            // An hour later: certificates made meanwhile are valid, too.
            time: { time ?? (terms.context?.validity.lowerBound).map { $0 + 3_600 } ?? 0 })
    }

    @Test @Loop func `files that a reload names are used from then on, the same ones too, and watched`() async throws {
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

    @Test @Loop func `files that do not belong together change nothing, and are reported`() async throws {
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

    @Test(arguments: [false, true], [false, true]) @Loop
    func `one that is out of its time takes the place of one that is too, of no valid one`(
        isOver: Bool, isEarly: Bool
    ) async throws {
        let (terms, recorder) = (TLSTerms(), LogRecorder())
        let validity = try TLSContext(try files.read()).validity
        let keeper = try keeper(terms, recorder, time: isOver ? validity.upperBound + 1 : validity.lowerBound)
        defer { keeper.stop() }
        let first = terms.context
        try replace(try isEarly ? certificates.earlyLeaf(names: ["one"]) : certificates.expiredLeaf(names: ["one"]))
        keeper.take(files)
        await awaited { terms.context !== first || keeper.problem != nil }
        #expect((terms.context !== first) == isOver)
        let reason = isEarly ? "is not valid yet" : "has expired"
        let refusal = "\(files.certificate): \(reason); the certificate before stays in use"
        #expect(recorder.lines.contains(refusal) != isOver)
    }

    @Test(
        arguments: [
            (14 * 86_400, nil), (14 * 86_400 - 1, "expires in 13 days"), (0, "expires in 0 days"),
            (-1, "has expired, and clients refuse it"),
        ] as [(Int64, String?)]) @Loop
    func `the end of a certificate is warned of two weeks before`(left: Int64, text: String?) throws {
        let (terms, recorder) = (TLSTerms(), LogRecorder())
        let end = try TLSContext(try files.read()).validity.upperBound
        try keeper(terms, recorder, time: end - left).stop()
        #expect(recorder.lines == (text.map { ["\(files.certificate) \($0): renew it"] } ?? []))
    }

    @Test @Loop func `session tickets have new keys after a day, and the next after another`() async throws {
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

    @Test @Loop func `files that cannot be used are a problem until they can, new keys of tickets or not`() async throws
    {
        let (terms, recorder, clock) = (TLSTerms(), LogRecorder(), ManualClock())
        let keeper = try keeper(terms, recorder, by: clock)
        defer { keeper.stop() }
        keeper.take(TLSFiles(certificate: directory.path + "/none.pem", key: files.key))
        await awaited { keeper.problem != nil }
        let before = terms.context
        await clock.advance(by: .seconds(24 * 3_600))
        #expect(terms.context !== before && keeper.problem != nil)
        keeper.take(files)
        await awaited { keeper.problem == nil }
    }

    @Test @Loop func `files that change are read half a second after the last change, not before`() async throws {
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

    @Test @Loop func `where no thread can be started the files are read later, and the problem said once`() async throws
    {
        let (terms, recorder, clock) = (TLSTerms(), LogRecorder(), ManualClock())
        var refusals = 3
        let keeper = CertificateKeeper(
            try files.read(), for: terms, on: TestServer.loop, clock: clock,
            events: EventLog(recorder.logger, clock: TestServer.loop),
            time: { terms.context?.validity.lowerBound ?? 0 }
        ) { files throws(SystemError) in
            refusals -= 1
            if refusals >= 0 { throw SystemError(code: EAGAIN, operation: "start thread certificate") }
            return Result { () throws(TLSFiles.Problem) in try files.read() }
        }
        defer { keeper.stop() }
        let first = terms.context
        keeper.take(files)
        await clock.advance(by: .milliseconds(999))
        let problem = TLSFiles.Problem(
            file: files.certificate,
            reason: "\(SystemError(code: EAGAIN, operation: "start thread certificate"))")
        #expect(keeper.problem == problem && terms.context === first)
        let said = recorder.lines.filter { $0.hasSuffix("stays in use") }
        #expect(said == ["\(problem); the certificate before stays in use"])
        await clock.advance(by: .milliseconds(501))
        #expect(keeper.problem == nil && terms.context !== first)
        #expect(recorder.lines.last == "\(files.certificate) is in use")
    }
}
