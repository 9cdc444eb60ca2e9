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

        @OptionGroup var place: CachePlace

        @Argument(help: "Only this name and those below it.")
        var suffix: String?

        @Option(help: .init("The most answers to list; 0 lists all.", valueName: "number"))
        var limit = 100

        func validate() throws {
            if limit < 0 { throw ValidationError("--limit \(limit): must not be negative") }
            if let suffix { try checkName(suffix) }
        }

        func run() throws {
            let json = place.control.json
            var (lines, next) = ([String](), String?.none)
            do {
                next = try place.lines(below: suffix, limit: limit == 0 ? .max : limit, as: json ? .objects : .rows) {
                    lines.append($0)
                }
            } catch let error as DiskReaderError where !lines.isEmpty {
                // What could be read is of use.
                printError("\(error.text)")
            }
            // Of both forms the first words are name and type.
            lines.sort()
            if json {
                let rest = JSONWriter.object { writer in
                    writer.member("next", next)
                    writer.member("forged", [String]())
                }
                return show(VisibleText(lines: "{\"entries\":[\(lines.joined(separator: ","))],\(rest.dropFirst())"))
            }
            let text = CacheReport.listText(lines.map { ReportForm.cells(of: $0[...]) })
            if !text.isEmpty { show(VisibleText(lines: text)) }
            if next != nil { printError("there are more; --limit 0 lists all") }
        }
    }

    /// `httpdnsd cache show NAME`
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Shows everything cached under one name, with all records.")

        @OptionGroup var place: CachePlace

        @Argument(help: "The name.")
        var name: String

        func validate() throws { try checkName(name) }

        func run() throws {
            let control = place.control
            guard let report = try place.report(of: name) else {
                return try control.run("/v1/cache/entry", [("name", name)])
            }
            let output = report.output(for: name)
            try end(with: control.json ? CommandOutput(report.json, exitStatus: output.exitStatus) : output)
        }
    }

    /// `httpdnsd cache export [SUFFIX]`
    struct Export: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export", abstract: "Prints cached answers with all records, a JSON object on each line.")

        @OptionGroup var place: CachePlace

        @Argument(help: "Only this name and those below it.")
        var suffix: String?

        func validate() throws { if let suffix { try checkName(suffix) } }

        func run() throws {
            _ = try place.lines(below: suffix, limit: .max, as: .objects, withRecords: true) {
                show(VisibleText(lines: $0))
            }
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
            try control.change("/v1/cache/flush", within: .seconds(60)) { writer in
                if let name { writer.member("name", name) }
                if let suffix { writer.member("suffix", suffix) }
                if all { writer.member("all", true) }
            }
        }
    }
}

/// Refuses text that is no domain name.
func checkName(_ text: String) throws {
    do throws(NameError) {
        _ = try Name(typed: text)
    } catch {
        throw ValidationError("\"\(text)\": not a name: \(error)")
    }
}

/// Where `cache list`, `show` and `export` read: the running server, or a file.
struct CachePlace: ParsableArguments {
    @OptionGroup var control: ControlOptions

    @Option(name: .customLong("file"), help: "Read this file (cache.disk.path) instead of asking a running server.")
    private var path: String?

    /// Reads answers, a line each: of the server page by page, of a file the newest first.
    ///
    /// - Parameter form: of a list: `objects` or `rows`.
    /// - Returns: from where it continues, of a file an empty text; nil when these were all.
    func lines(
        below suffix: String?, limit: Int, as form: ReportForm, withRecords: Bool = false, _ take: (String) -> Void
    ) throws -> String? {
        var left = limit
        if let path {
            let (file, now) = (try DiskReader(path), Int64(time(nil)))
            let isAll = try file.forEach(below: suffix.flatMap { try? Name($0) }) { stored in
                guard left > 0 else { return false }
                left -= 1
                take(CacheReport.Entry(stored, of: file, at: now, withRecords: withRecords).line(form))
                return true
            }
            return isAll ? nil : ""
        }
        let client = try control.client()
        var next: String?
        repeat {
            var parameters = [("limit", "\(min(left, 1_000))")]
            if let suffix { parameters.append(("suffix", suffix)) }
            if let next { parameters.append(("cursor", next)) }
            if withRecords { parameters.append(("records", "true")) }
            let page = try client.get("/v1/cache", parameters, as: form)
            for line in page.lines { take(String(line)) }
            (left, next) = (left - page.lines.count, page.next)
        } while next != nil && left > 0
        return next
    }

    /// What a file has of a name; nil when the server is to be asked.
    func report(of name: String) throws -> CacheReport? {
        guard let path, let name = try? Name(name) else { return nil }
        let (file, now) = (try DiskReader(path), Int64(time(nil)))
        let entries = try file.answers(of: name).map { CacheReport.Entry($0, of: file, at: now, withRecords: true) }
        return CacheReport(entries: entries)
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
