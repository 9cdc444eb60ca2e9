package import HTTPDNS

/// The reason why a request failed.
package struct FaultReport: JSONRecord {
    package var error = ""

    package init() {}

    package init(error: String) { self.error = error }

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        if key == "error" { error = try reader.string() }
    }

    package func write(to writer: inout JSONWriter) { writer.member("error", error) }
}
