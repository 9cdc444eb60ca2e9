import DNSWire
package import HTTPDNS

/// A report of the control API, written by the server and parsed by the commands. Unknown members are skipped, so that
/// a command may be older than its server.
package protocol JSONRecord: Equatable, Sendable {
    /// All members empty.
    init()
    /// Parses the value of one member; a member that it does not read is skipped.
    mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError)
    /// Writes all members.
    func write(to writer: inout JSONWriter)
}

extension JSONRecord {
    /// The report as one JSON object.
    package var json: String { JSONWriter.object { write(to: &$0) } }

    /// Parses the only value of `bytes`.
    package init(json bytes: [UInt8]) throws(JSONError) {
        self = try JSONReader.read(bytes) { reader throws(JSONError) in try Self(from: &reader) }
    }

    init(from reader: inout JSONReader) throws(JSONError) {
        self.init()
        var record = self
        try reader.object { reader, key throws(JSONError) in try record.read(key, from: &reader) }
        self = record
    }
}

extension JSONReader {
    /// Parses an array of objects.
    mutating func records<Record: JSONRecord>() throws(JSONError) -> [Record] {
        var records: [Record] = []
        try array { reader throws(JSONError) in records.append(try Record(from: &reader)) }
        return records
    }

    mutating func strings() throws(JSONError) -> [String] {
        var strings: [String] = []
        try array { reader throws(JSONError) in strings.append(try reader.string()) }
        return strings
    }

    /// Parses a number that other JSON readers can read, too (RFC 8259 section 6); sums of them fit.
    mutating func int() throws(JSONError) -> Int { try integer().clamped(to: -(1 << 53)...1 << 53) }

    mutating func optionalInt() throws(JSONError) -> Int? {
        guard try kind() != .null else {
            try null()
            return nil
        }
        return try int()
    }

    mutating func optionalString() throws(JSONError) -> String? {
        guard try kind() != .null else {
            try null()
            return nil
        }
        return try string()
    }
}

extension JSONWriter {
    /// Writes a member that is an array of objects.
    mutating func member(_ key: String, records: [some JSONRecord]) {
        member(
            key,
            array: { writer in
                for record in records { writer.object { record.write(to: &$0) } }
            })
    }
}
