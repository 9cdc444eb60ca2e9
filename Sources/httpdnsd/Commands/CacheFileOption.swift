import Admin
import ArgumentParser
import DNSResolver
import DNSWire
import DiskCache
import Glibc
import HTTPDNS

/// Where `cache list`, `show` and `export` read: the running server, or a file.
struct CacheFileOption: ParsableArguments {
    @Option(name: .customLong("file"), help: "Read this file (cache.disk.path) instead of asking a running server.")
    var path: String?

    /// Nil when the server is to be asked.
    func reader() throws(DiskReaderError) -> CacheFileReader? {
        guard let path else { return nil }
        return CacheFileReader(try DiskReader(path))
    }
}

/// A file of answers in the form of reports.
struct CacheFileReader {
    private let file: DiskReader
    private let now = Int64(time(nil))

    init(_ file: DiskReader) { self.file = file }

    /// Some of the answers, the newest; `next` is not nil when there are more.
    func report(below suffix: String?, limit: Int) throws(DiskReaderError) -> CacheReport {
        var report = CacheReport()
        do throws(DiskReaderError) {
            let isAll = try forEach(below: suffix, withRecords: false) { entry in
                guard report.entries.count < limit else { return false }
                report.entries.append(entry)
                return true
            }
            if !isAll { report.next = "" }
        } catch {
            // What could be read is of use.
            guard !report.entries.isEmpty else { throw error }
            printError("\(error.text)")
        }
        return report
    }

    /// Everything of one name.
    func report(of name: String) throws(DiskReaderError) -> CacheReport {
        guard let name = try? Name(name) else { return CacheReport() }
        let entries = try file.answers(of: name).map { CacheReport.Entry($0, of: file, at: now, withRecords: true) }
        return CacheReport(entries: entries, next: nil)
    }

    /// - Returns: whether `body` was given all.
    @discardableResult
    func forEach(
        below suffix: String?, withRecords: Bool, _ body: (CacheReport.Entry) -> Bool
    ) throws(DiskReaderError) -> Bool {
        try file.forEach(below: suffix.flatMap { try? Name($0) }) { stored in
            body(CacheReport.Entry(stored, of: file, at: now, withRecords: withRecords))
        }
    }
}

extension CacheReport.Entry {
    /// An answer of a file.
    ///
    /// - Parameter now: seconds since 1970.
    fileprivate init(_ stored: StoredAnswer, of file: DiskReader, at now: Int64, withRecords: Bool) {
        self.init(
            stored.question, stored.answer, isSigned: stored.dnssecOK || stored.checkingDisabled,
            isNegative: stored.head.isNegative, age: stored.age(at: now), lifetime: Int(stored.head.lifetime),
            source: SourceName(file.source(of: stored), stored.head.route), withRecords: withRecords)
    }
}

extension SourceName {
    /// The source of an answer of a file: a word, perhaps a provider's name, and a digest.
    fileprivate init(_ text: String, _ route: StoredRoute) {
        let words = text.split(separator: " ").dropLast()
        let named = AnswerKind.allCases.first { words.first?.elementsEqual($0.word) == true } ?? .provider
        let isProtected = [.protect, .protectListed].contains(route)
        self.init(
            named == .localDNS && isProtected ? .unverifiedLocalDNS : named,
            provider: words.dropFirst().joined(separator: " "))
    }
}

/// The server that runs with a configuration file, as a reader of that: it may read less than a command of root's, and has the
/// environment of its start.
struct RunningReader: Sendable {
    /// What it would say to a reload.
    private let report: ReloadReport

    /// Asks it. Nil where no server of this version runs with the file.
    ///
    /// - Parameters:
    ///   - path: of the configuration file.
    ///   - socket: the path of the control socket.
    ///   - patience: the most time for each of two requests.
    init?(of path: String, at socket: String, within patience: Duration = .seconds(2)) {
        let client = ControlClient(socket: socket, timeout: patience)
        guard !socket.isEmpty, let status = try? client.get("/v1/status", as: StatusReport.self).report,
            status.configuration == path, status.version == Release.version,
            let report = try? client.get("/v1/reload", as: ReloadReport.self).report
        else { return nil }
        self.report = report
    }

    init(_ report: ReloadReport) { self.report = report }

    /// Why its next start fails; nil where it does not.
    var refusal: ConfigurationRefusal? {
        guard !report.errors.isEmpty, !report.isMendedByRestart else { return nil }
        return ConfigurationRefusal(lines: report.errors + [Self.advice], warnings: report.warnings)
    }

    /// Why a reload is refused although a start is not; empty where it is taken.
    var outdated: [String] { report.isMendedByRestart ? report.errors : [] }

    static let advice =
        "so the running server reads it, which may read less than root: `chmod 644` for what is no secret, else LoadCredential= in its unit (Documentation/Operations.md)"
}
