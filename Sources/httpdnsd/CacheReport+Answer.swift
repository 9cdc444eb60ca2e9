import Admin
import DNSCache
import DNSWire
import DiskCache

extension CacheReport.Entry {
    /// An answer of the cache.
    ///
    /// - Parameters:
    ///   - age: seconds since it was stored.
    ///   - lifetime: its original TTL in seconds.
    init(
        _ question: Question, _ packed: PackedAnswer, isSigned: Bool, isNegative: Bool, age: Int, lifetime: Int,
        source: String, withRecords: Bool
    ) {
        self.init()
        name = question.name.description
        type = question.type.description
        self.isSigned = isSigned
        self.age = age
        isStale = age >= lifetime
        ttl = lifetime - min(age, lifetime)
        self.source = source
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

    /// An answer of a file.
    ///
    /// - Parameter now: seconds since 1970.
    init(_ stored: StoredAnswer, at now: Int64, withRecords: Bool) {
        let age = now < stored.storedAt ? Int(stored.lifetime) : Int(clamping: now - stored.storedAt)
        self.init(
            stored.question, stored.answer, isSigned: stored.dnssecOK || stored.checkingDisabled,
            isNegative: stored.isNegative, age: age, lifetime: Int(stored.lifetime), source: stored.source,
            withRecords: withRecords)
    }
}
