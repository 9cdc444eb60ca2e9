import Admin
import ArgumentParser
import DNSResolver
import DNSWire
import DiskCache
import Glibc
import HTTPDNS

/// `httpdnsd cache`: what the running server has in its cache, or a file of it.
struct CacheCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache", abstract: "Lists, shows, exports or forgets cached answers.",
        subcommands: [List.self, Show.self, Export.self, Flush.self])
}

extension CacheCommand {
    /// `httpdnsd cache list [SUFFIX]`
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "Lists cached answers: name, type, addresses, seconds left, age and source.")

        @OptionGroup var control: ControlOptions

        @Argument(help: "Only this name and those below it.")
        var suffix: String?

        @OptionGroup var place: CacheFileOption

        @Option(help: .init("The most answers to list; 0 lists all.", valueName: "number"))
        var limit = 100

        func validate() throws {
            if limit < 0 { throw ValidationError("--limit \(limit): must not be negative") }
            if let suffix { try checkName(suffix) }
        }

        func run() throws {
            let wanted = limit == 0 ? Int.max : limit
            var all = CacheReport()
            if let reader = try place.reader() {
                all = try reader.report(below: suffix, limit: wanted)
            } else {
                repeat {
                    let page = try control.page(
                        below: suffix, limit: min(wanted - all.entries.count, 1_000), cursor: all.next)
                    all.entries += page.entries
                    all.next = page.next
                } while all.next != nil && all.entries.count < wanted
            }
            all.entries.sort { ($0.name, $0.type) < ($1.name, $1.type) }
            if control.json { return show(VisibleText(lines: all.json)) }
            let text = all.listText
            if !text.isEmpty { show(VisibleText(lines: text)) }
            if all.next != nil { printError("there are more; --limit 0 lists all") }
        }
    }

    /// `httpdnsd cache show NAME`
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Shows everything cached under one name, with all records.")

        @OptionGroup var control: ControlOptions

        @OptionGroup var place: CacheFileOption

        @Argument(help: "The name.")
        var name: String

        func validate() throws { try checkName(name) }

        func run() throws {
            if let reader = try place.reader() { return try show(reader.report(of: name)) }
            let reply = try control.client().get("/v1/cache/entry", [("name", name)], as: CacheReport.self)
            try show(reply.report)
        }

        private func show(_ report: CacheReport) throws {
            if control.json {
                httpdnsd.show(VisibleText(lines: report.json))
            } else if !report.entries.isEmpty || !report.forged.isEmpty {
                httpdnsd.show(VisibleText(lines: report.showText))
            }
            guard !report.entries.isEmpty else {
                if !control.json { printError("nothing is cached under \(name)") }
                throw ExitStatus.no.exitCode
            }
        }
    }

    /// `httpdnsd cache export [SUFFIX]`
    struct Export: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export", abstract: "Prints cached answers with all records, a JSON object on each line.")

        @OptionGroup var control: ControlOptions

        @OptionGroup var place: CacheFileOption

        @Argument(help: "Only this name and those below it.")
        var suffix: String?

        func validate() throws { if let suffix { try checkName(suffix) } }

        func run() throws {
            if let reader = try place.reader() {
                try reader.forEach(below: suffix, withRecords: true) { entry in
                    show(VisibleText(lines: entry.json))
                    return true
                }
                return
            }
            var cursor: String?
            repeat {
                let page = try control.page(below: suffix, limit: 1_000, cursor: cursor, withRecords: true)
                for entry in page.entries { show(VisibleText(lines: entry.json)) }
                cursor = page.next
            } while cursor != nil
        }
    }

    /// `httpdnsd cache flush NAME | --suffix SUFFIX | --all`
    struct Flush: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "flush", abstract: "Forgets the cached answers of a name, of a name and all below it, or all.")

        @OptionGroup var control: ControlOptions

        @Argument(help: "The name; every type of it is forgotten.")
        var name: String?

        @Option(help: "Forget this name and all below it.")
        var suffix: String?

        @Flag(help: "Forget everything.")
        var all = false

        func validate() throws {
            let given = [name != nil, suffix != nil, all].count { $0 }
            if given != 1 { throw ValidationError("Name what to forget: a NAME, or --suffix SUFFIX, or --all.") }
            if let name { try checkName(name) }
            if let suffix { try checkName(suffix) }
        }

        func run() throws {
            let reply = try control.client(within: .seconds(60)).post("/v1/cache/flush", as: FlushReport.self) {
                writer in
                if let name { writer.member("name", name) }
                if let suffix { writer.member("suffix", suffix) }
                if all { writer.member("all", true) }
            }
            control.show(reply) { counted($0.removed, "answer") + " forgotten" }
        }
    }
}

/// Refuses text that is no domain name.
func checkName(_ text: String) throws {
    do throws(NameError) {
        _ = try Name(text)
    } catch {
        throw ValidationError("\(text): not a name: \(error)")
    }
}

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
