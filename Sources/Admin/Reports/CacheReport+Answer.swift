package import DNSCache
package import DNSResolver
package import DNSWire

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
