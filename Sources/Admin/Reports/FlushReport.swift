package import HTTPDNS

/// The result of `cache flush`.
package struct FlushReport: JSONRecord {
    /// The number of answers removed.
    package var removed = 0

    package init() {}

    package init(removed: Int) { self.removed = removed }

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        if key == "removed" { removed = try reader.int() }
    }

    package func write(to writer: inout JSONWriter) { writer.member("removed", removed) }
}
