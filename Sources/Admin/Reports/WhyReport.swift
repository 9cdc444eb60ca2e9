package import HTTPDNS

/// What is cached of a name and why, as `why.NAME CH TXT` has it.
package struct WhyReport: JSONRecord {
    /// Lines of `key=value` words, the last of which may be `reason=` and a sentence.
    package var lines: [String] = []

    package init() {}

    package init(lines: [String]) { self.lines = lines }

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "lines": lines = try reader.strings()
        default: break
        }
    }

    package func write(to writer: inout JSONWriter) { writer.member("lines", strings: lines) }
}
