package import DNSCache
package import DNSResolver
package import DNSWire
import HTTPDNS

/// Cached answers.
package struct CacheReport: JSONRecord {
    package var entries: [Entry] = []
    /// The cursor from which to continue; nil at the end.
    package var next: String?
    /// Forged answers of LocalDNS for the name; only where one name was requested.
    package var forged: [ForgedAddress] = []

    package init() {}

    package init(entries: [Entry], next: String?, forged: [ForgedAddress] = []) {
        self.entries = entries
        self.next = next
        self.forged = forged
    }

    package static let members: [JSONMember<Self>] = [
        .init("entries", records: \.entries),
        .init("next", \.next),
        .init("forged", records: \.forged),
    ]

    /// One answer.
    package struct Entry: JSONRecord {
        package var name = ""
        package var type = ""
        /// The RCODE's name, or `NODATA`.
        package var status = ""
        /// Whether it was queried with DNSSEC's DO or CD bit.
        package var isSigned = false
        package var addresses: [String] = []
        /// The remaining seconds of the TTL, 0 once it is stale; and seconds since it was stored.
        package var ttl = 0
        package var age = 0
        /// Whether its TTL has expired.
        package var isStale = false
        /// Whether it is never given to clients: it was decided by another policy, or is too old.
        package var isUnusable = false
        /// The word for the source of the answer.
        package var source = ""
        /// The provider that gave it; empty where none did.
        package var provider = ""
        /// The network of the clients for which it is valid, or `no network`; empty: it is valid for all.
        package var clients = ""
        /// The address of the server that gave it; empty when there was none.
        package var server = ""
        /// All its records; only where they were requested.
        package var records: [CachedRecord] = []

        package init() {}

        /// Whether it is NXDOMAIN or NODATA, or another RCODE than NOERROR.
        package var isNegative: Bool { status != "NOERROR" }

        /// Whether it has records that may be given to a client.
        package var isAnswer: Bool { !isNegative && !isUnusable }

        package static let members: [JSONMember<Self>] = [
            .init("name", \.name),
            .init("type", \.type),
            .init("status", \.status),
            .init("signed", \.isSigned),
            .init("addresses", strings: \.addresses),
            .init("ttl", \.ttl),
            .init("age", \.age),
            .init("stale", \.isStale),
            .init("unusable", \.isUnusable),
            .init("source", \.source),
            .init("provider", \.provider),
            .init("clients", \.clients),
            .init("server", \.server),
            .init("records", records: \.records),
        ]
    }
}

/// A record as text.
package struct CachedRecord: JSONRecord {
    package var name = ""
    package var type = ""
    /// The remaining seconds of the TTL.
    package var ttl = 0
    package var data = ""

    package init() {}

    package init(name: String, type: String, ttl: Int, data: String) {
        self.name = name
        self.type = type
        self.ttl = ttl
        self.data = data
    }

    package static let members: [JSONMember<Self>] = [
        .init("name", \.name),
        .init("type", \.type),
        .init("ttl", \.ttl),
        .init("data", \.data),
    ]
}

extension CacheReport.Entry {
    /// The entry for a cached answer.
    ///
    /// - Parameters:
    ///   - age: seconds since it was stored, not negative.
    ///   - lifetime: its original TTL in seconds, not negative.
    package init(
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
        records = (answer.answers + answer.authorities + answer.additionals).map { record in
            CachedRecord(
                name: record.name.description, type: record.type.description,
                ttl: Int(record.ttl) - min(age, Int(record.ttl)), data: record.dataText)
        }
    }
}

extension CacheReport {
    /// A line for each answer.
    package var listText: String {
        guard !entries.isEmpty else { return "" }
        var rows = [["NAME", "TYPE", "LEFT", "AGE", "SOURCE", "ADDRESSES"]]
        for entry in entries {
            let isLong = entry.name.utf8.count > Self.nameWidth
            if isLong { rows.append([entry.name]) }
            rows.append([
                isLong ? "" : entry.name, entry.type + (entry.isSigned ? "+" : ""), entry.leftText, "\(entry.age)",
                entry.sourceText,
            ])
            let words = entry.addresses.isEmpty ? [entry.isAnswer ? "-" : entry.status] : entry.addresses
            rows[rows.count - 1].append(words.joined(separator: " "))
        }
        return PlainText.lines(rows).split(separator: "\n").map(Self.wrapped).joined(separator: "\n")
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
    package var showText: String {
        let answers = entries.map { entry in
            let left = entry.isStale || entry.isUnusable ? entry.leftText : "\(entry.leftText) s left"
            let head =
                "\(entry.name) \(entry.type)\(entry.isSigned ? " (DNSSEC)" : ""): \(entry.status), from \(entry.sourceText)\(entry.server.isEmpty ? "" : " at \(entry.server)") \(entry.age) s ago, \(left)"
            return ([head] + entry.records.map { "\($0.name) \($0.ttl) \($0.type) \($0.data)" })
                .map { VisibleText($0).description }.joined(separator: "\n")
        }
        return (answers + forged.map { "forged: \($0.text)" }).joined(separator: "\n")
    }
}

extension CacheReport.Entry {
    /// The remaining seconds, or why there are none.
    fileprivate var leftText: String { isUnusable ? "unusable" : isStale ? "stale" : "\(ttl)" }

    /// The source, and its client network where it is not for all clients.
    fileprivate var sourceText: String {
        source + (provider.isEmpty ? "" : " \(provider)") + (clients.isEmpty ? "" : ", for \(clients)")
    }
}
