public import DNSCache
public import DNSResolver
public import DNSWire
public import HTTPDNS
import Platform

/// Cached answers.
public struct CacheReport: JSONRecord {
    @Member("entries") public var entries: [Entry] = []
    /// The cursor from which to continue; nil at the end.
    @Member("next") public var next: String?
    /// Forged answers of LocalDNS for the name; only where one name was requested.
    @Member("forged") public var forged: [HijackedAddress] = []

    public init(entries: [Entry] = [], next: String? = nil, forged: [HijackedAddress] = []) {
        (self.entries, self.next, self.forged) = (entries, next, forged)
    }

    /// One answer.
    public struct Entry: JSONRecord {
        @Member("name") public var name = ""
        @Member("type") public var type = ""
        /// The RCODE's name, or `NODATA`.
        @Member("status") public var status = ""
        /// Whether it was queried with DNSSEC's DO or CD bit.
        @Member("signed") public var isSigned = false
        @Member("addresses") public var addresses: [String] = []
        /// The remaining seconds of the TTL, 0 once it is stale; and seconds since it was stored.
        @Member("ttl") public var ttl = 0
        @Member("age") public var age = 0
        /// Whether its TTL has expired.
        @Member("stale") public var isStale = false
        /// Whether it is never given to clients: it was decided by another policy, or is too old.
        @Member("unusable") public var isUnusable = false
        /// The word for the source of the answer.
        @Member("source") public var source = ""
        /// The provider that gave it; empty where none did.
        @Member("provider") public var provider = ""
        /// The network of the clients for which it is valid, or `no network`; empty: it is valid for all.
        @Member("clients") public var clients = ""
        /// The address of the server that gave it; empty when there was none.
        @Member("server") public var server = ""
        /// All its records; only where they were requested.
        @Member("records") public var records: [CachedRecord] = []

        /// Whether it has records that may be given to a client.
        var isAnswer: Bool { status == "NOERROR" && !isUnusable }
    }
}

/// A record as text.
public struct CachedRecord: JSONRecord {
    @Member("name") public var name = ""
    @Member("type") public var type = ""
    /// The remaining seconds of the TTL.
    @Member("ttl") public var ttl = 0
    @Member("data") public var data = ""
}

extension CachedRecord {
    /// - Parameter age: seconds since it came, not negative.
    public init(_ record: Record, age: Int = 0) {
        self.init()
        (name, type, data) = (record.name.description, record.type.description, record.dataText)
        ttl = Int(record.ttl) - min(age, Int(record.ttl))
    }

    /// One line, as in a master file.
    public var text: String { "\(name) \(ttl) \(type) \(data)" }
}

extension CacheReport.Entry {
    /// The entry for a cached answer.
    ///
    /// - Parameters:
    ///   - age: seconds since it was stored, not negative.
    ///   - lifetime: its original TTL in seconds, not negative.
    public init(
        _ question: Question, _ packed: PackedAnswer, isSigned: Bool, isNegative: Bool, age: Int, lifetime: Int,
        source: SourceName, withRecords: Bool
    ) {
        self.init()
        name = question.name.description
        type = question.type.description
        self.isSigned = isSigned
        self.age = age
        isStale = age >= lifetime
        ttl = lifetime - min(age, lifetime)
        (self.source, provider) = (source.word, source.provider)
        let code = packed.responseCode
        status = isNegative && code == .noError ? "NODATA" : "\(code)"
        guard let answer = packed.unpacked(for: question) else { return }
        addresses = answer.addresses.map(\.description)
        guard withRecords else { return }
        records = (answer.answers + answer.authorities + answer.additionals).map { CachedRecord($0, age: age) }
    }
}

extension CacheReport {
    /// A line for each answer; empty where there is none.
    ///
    /// - Parameter rows: those of the entries, in order.
    public static func listText(_ rows: [[String]]) -> String {
        guard !rows.isEmpty else { return "" }
        let head = [["NAME", "TYPE", "LEFT", "AGE", "SOURCE", "ADDRESSES"]]
        let lines = rows.flatMap { row in
            (row.first?.utf8.count ?? 0) > nameWidth ? [[row[0]], [""] + row.dropFirst()] : [row]
        }
        return (head + lines).tableText.split(separator: "\n").map(wrapped).joined(separator: "\n")
    }

    /// The longest name that shares a line with its answer.
    private static let nameWidth = 24
    /// The columns of a terminal.
    private static let width = 80

    /// A line whose last words, addresses, go to lines of their own where the terminal ends.
    private static func wrapped(_ line: Substring) -> String {
        var (lines, rest) = ([String](), String(line))
        while rest.count > width, let end = rest.prefix(width + 1).lastIndex(of: " "), end > rest.startIndex,
            rest[..<end].contains(where: { $0 != " " })
        {
            lines.append(String(rest[..<end].reversed().drop { $0 == " " }.reversed()))
            rest = "      " + rest[end...].drop { $0 == " " }
        }
        return (lines + [rest]).joined(separator: "\n")
    }

    /// A head line for each answer, and its records.
    var showText: String {
        let answers = entries.map { entry in
            let left = entry.isStale || entry.isUnusable ? entry.leftText : "\(entry.leftText) s left"
            let head =
                "\(entry.name) \(entry.type)\(entry.isSigned ? " (DNSSEC)" : ""): \(entry.status), from \(entry.sourceText)\(entry.server.isEmpty ? "" : " at \(entry.server)") \(entry.age) s ago, \(left)"
            return ([head] + entry.records.map(\.text))
                .map { VisibleText($0).description }.joined(separator: "\n")
        }
        return (answers + forged.map { "forged: \($0.text)" }).joined(separator: "\n")
    }

    /// What `cache show` prints.
    ///
    /// - Parameter types: not nil for `query --via cache`, and a report with entries of these types alone.
    public func output(for name: String, _ types: [String]? = nil) -> CommandOutput {
        let isFound = types == nil ? !entries.isEmpty : entries.contains(where: \.isAnswer)
        let missing =
            types.map { "\(name) \($0.joined(separator: " ")) is not cached" } ?? "nothing is cached under \(name)"
        return CommandOutput(
            types != nil && entries.isEmpty ? "" : showText, remarks: entries.isEmpty ? [missing] : [],
            exitStatus: isFound ? 0 : 1)
    }
}

extension CacheReport.Entry {
    /// Its line in the form of a list.
    public func line(_ form: ReportForm) -> String { form == .rows ? ReportForm.row(row) : json }

    /// The words of its line for people.
    public var row: [String] {
        [
            name, type + (isSigned ? "+" : ""), leftText, "\(age)", sourceText,
            addresses.isEmpty ? isAnswer ? "-" : status : addresses.joined(separator: " "),
        ]
    }

    /// The remaining seconds, or why there are none.
    fileprivate var leftText: String { isUnusable ? "unusable" : isStale ? "stale" : "\(ttl)" }

    /// The source, and its client network where it is not for all clients.
    fileprivate var sourceText: String {
        source + (provider.isEmpty ? "" : " \(provider)") + (clients.isEmpty ? "" : ", for \(clients)")
    }
}

/// What reports have of an address that LocalDNS gave for a protected name, and whose certificate is not valid for the name.
extension HijackedAddress: JSONValue {
    /// How many are in one report, those seen last.
    public static let shown = 20

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", name.description)
            writer.member("address", address.description)
            writer.member("server", server)
            writer.member("port", port)
            writer.member("reason", evidence.reason)
            writer.member("subject", evidence.subject)
            writer.member("issuer", evidence.issuer)
            writer.member("sha256", evidence.fingerprint)
            writer.member("first", Self.time(first))
            writer.member("last", Self.time(last))
            writer.member("count", count)
        }
    }

    /// One line: the name, the address, and the certificate that it showed.
    public var text: String {
        var text = "\(name) at \(address) port \(port): \(evidence.reason)"
        if !evidence.subject.isEmpty { text += "; subject \(evidence.subject)" }
        if !evidence.issuer.isEmpty { text += ", issuer \(evidence.issuer)" }
        if !evidence.fingerprint.isEmpty { text += ", SHA-256 \(evidence.fingerprint)" }
        let times = "\(Self.time(first)) to \(Self.time(last))"
        return VisibleText(text).description + "; seen \(counted(count, "time")), \(times)"
    }

    /// ISO 8601 in UTC.
    private static func time(_ seconds: Int64) -> String { UTCTime(milliseconds: seconds * 1_000).description }
}
