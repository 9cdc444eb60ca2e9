import DNSWire
package import HTTPDNS

/// A report of the control API, written by the server and parsed by the commands. Unknown members are skipped, so that
/// a command may be older than its server.
package protocol JSONRecord: Equatable, JSONValue {
    /// All members empty.
    init()
    /// What is written, in order, and read in any order.
    static var members: [JSONMember<Self>] { get }
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

    package init(from reader: inout JSONReader) throws(JSONError) {
        self.init()
        var record = self
        try reader.object { reader, key throws(JSONError) in
            try Self.members.first { $0.key == key }?.read(&record, &reader)
        }
        self = record
    }

    package func write(to writer: inout JSONWriter) { for member in Self.members { member.write(self, &writer) } }

    package func write(_ key: String, to writer: inout JSONWriter) { writer.member(key, object: { write(to: &$0) }) }
}

/// A member of a report: its key, and what of the report it has.
package struct JSONMember<Record>: Sendable {
    typealias Path<Value> = WritableKeyPath<Record, Value> & Sendable

    /// Nil: it is never read.
    let key: String?
    let read: @Sendable (inout Record, inout JSONReader) throws(JSONError) -> Void
    let write: @Sendable (Record, inout JSONWriter) -> Void

    /// A member that follows from others.
    init(write: @escaping @Sendable (Record, inout JSONWriter) -> Void) {
        (key, read, self.write) = (nil, { _, _ in }, write)
    }

    private init(
        _ key: String, read: @escaping @Sendable (inout Record, inout JSONReader) throws(JSONError) -> Void,
        write: @escaping @Sendable (Record, inout JSONWriter) -> Void
    ) { (self.key, self.read, self.write) = (key, read, write) }

    init(_ key: String, _ path: any Path<some JSONValue>) {
        self.init(
            key, read: { record, reader throws(JSONError) in record[keyPath: path] = try .init(from: &reader) },
            write: { record, writer in record[keyPath: path].write(key, to: &writer) })
    }

    /// One that is left out where there is no value.
    init<Value: JSONValue>(_ key: String, ifAny path: any Path<Value?>) {
        self.init(
            key, read: { record, reader throws(JSONError) in record[keyPath: path] = try Value(from: &reader) },
            write: { record, writer in record[keyPath: path]?.write(key, to: &writer) })
    }

    init(_ key: String, strings path: any Path<[String]>) {
        self.init(
            key,
            read: { record, reader throws(JSONError) in
                try reader.array { reader throws(JSONError) in record[keyPath: path].append(try reader.string()) }
            }, write: { record, writer in writer.member(key, strings: record[keyPath: path]) })
    }

    init<Element: JSONRecord>(_ key: String, records path: any Path<[Element]>) {
        self.init(
            key,
            read: { record, reader throws(JSONError) in
                try reader.array { reader throws(JSONError) in
                    record[keyPath: path].append(try Element(from: &reader))
                }
            },
            write: { record, writer in writer.member(key, objects: record[keyPath: path]) { $0.write(to: &$1) } })
    }

    /// A word for each value. One that is not known leaves the value as it is.
    init<Value: RawRepresentable<String> & SendableMetatype>(_ key: String, word path: any Path<Value>) {
        self.init(
            key,
            read: { record, reader throws(JSONError) in
                if let value = Value(rawValue: try reader.string()) { record[keyPath: path] = value }
            }, write: { record, writer in writer.member(key, record[keyPath: path].rawValue) })
    }

    /// A word for true, and one for false.
    init(_ key: String, _ path: any Path<Bool>, _ yes: String, _ no: String) {
        self.init(
            key, read: { record, reader throws(JSONError) in record[keyPath: path] = try reader.string() == yes },
            write: { record, writer in writer.member(key, record[keyPath: path] ? yes : no) })
    }
}

/// What a member of a report can be.
package protocol JSONValue: Sendable {
    /// Parses one value.
    init(from reader: inout JSONReader) throws(JSONError)
    /// Writes it as a member of an object.
    func write(_ key: String, to writer: inout JSONWriter)
}

extension String: JSONValue {
    package init(from reader: inout JSONReader) throws(JSONError) { self = try reader.string() }

    package func write(_ key: String, to writer: inout JSONWriter) { writer.member(key, self) }
}

extension Bool: JSONValue {
    package init(from reader: inout JSONReader) throws(JSONError) { self = try reader.boolean() }

    package func write(_ key: String, to writer: inout JSONWriter) { writer.member(key, self) }
}

extension Int: JSONValue {
    /// Parses a number that other JSON readers can read, too (RFC 8259 section 6); sums of them fit.
    package init(from reader: inout JSONReader) throws(JSONError) {
        self = try reader.integer().clamped(to: -(1 << 53)...1 << 53)
    }

    package func write(_ key: String, to writer: inout JSONWriter) { writer.member(key, self) }
}

extension Optional: JSONValue where Wrapped: JSONValue {
    package init(from reader: inout JSONReader) throws(JSONError) {
        self = nil
        if try reader.kind() == .null { try reader.null() } else { self = try Wrapped(from: &reader) }
    }

    package func write(_ key: String, to writer: inout JSONWriter) {
        guard let self else { return writer.member(key, String?.none) }
        self.write(key, to: &writer)
    }
}

extension JSONWriter {
    /// Writes a member that is an array of objects, one for each item.
    package mutating func member<Item>(
        _ key: String, objects items: [Item], _ members: (Item, inout JSONWriter) -> Void
    ) {
        member(key, array: { writer in for item in items { writer.object { members(item, &$0) } } })
    }
}
