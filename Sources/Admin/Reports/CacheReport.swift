package import HTTPDNS

/// Answers that the cache holds.
package struct CacheReport: JSONRecord {
    package var entries: [Entry] = []
    /// Where to go on; nil at the end.
    package var next: String?
    /// What LocalDNS was caught at with the name; only where one name was asked for.
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
        /// Whether it was asked for with DNSSEC's DO or CD bit.
        package var isSigned = false
        package var addresses: [String] = []
        /// Seconds that are left, 0 once it is stale; and seconds since it was stored.
        package var ttl = 0
        package var age = 0
        /// Whether it is past its TTL.
        package var isStale = false
        /// Whether it is never given: it was decided by another policy, or is too old.
        package var isUnusable = false
        /// Who told it.
        package var source = ""
        /// For LocalDNS's answers to protected names: `verified` by certificates, or `unverified`.
        package var check: String?
        /// The network of the clients that it is for, or `no network`; empty: it is for all.
        package var clients = ""
        /// The address of the server that told it; empty when there was none.
        package var server = ""
        /// All its records; only where they were asked for.
        package var records: [CachedRecord] = []

        package init() {}

        /// Whether there is no such name, or no record of the type.
        package var isNegative: Bool { status != "NOERROR" }

        /// Whether it has records that a client can be given.
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
            case "check": check = try reader.optionalString()
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
            writer.member("check", check)
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
    /// Seconds that are left.
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
