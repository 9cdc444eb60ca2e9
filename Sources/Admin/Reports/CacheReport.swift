package import DNSCache
package import DNSResolver
package import DNSWire
package import HTTPDNS

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

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "entries": entries = try reader.records()
        case "next": next = try reader.optionalString()
        case "forged": forged = try reader.records()
        default: break
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("entries", records: entries)
        writer.member("next", next)
        writer.member("forged", records: forged)
    }

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

        package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "name": name = try reader.string()
            case "type": type = try reader.string()
            case "status": status = try reader.string()
            case "signed": isSigned = try reader.boolean()
            case "addresses": addresses = try reader.strings()
            case "ttl": ttl = try reader.int()
            case "age": age = try reader.int()
            case "stale": isStale = try reader.boolean()
            case "unusable": isUnusable = try reader.boolean()
            case "source": source = try reader.string()
            case "provider": provider = try reader.string()
            case "clients": clients = try reader.string()
            case "server": server = try reader.string()
            case "records": records = try reader.records()
            default: break
            }
        }

        package func write(to writer: inout JSONWriter) {
            writer.member("name", name)
            writer.member("type", type)
            writer.member("status", status)
            writer.member("signed", isSigned)
            writer.member("addresses", strings: addresses)
            writer.member("ttl", ttl)
            writer.member("age", age)
            writer.member("stale", isStale)
            writer.member("unusable", isUnusable)
            writer.member("source", source)
            writer.member("provider", provider)
            writer.member("clients", clients)
            writer.member("server", server)
            writer.member("records", records: records)
        }
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

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "name": name = try reader.string()
        case "type": type = try reader.string()
        case "ttl": ttl = try reader.int()
        case "data": data = try reader.string()
        default: break
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("type", type)
        writer.member("ttl", ttl)
        writer.member("data", data)
    }
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
