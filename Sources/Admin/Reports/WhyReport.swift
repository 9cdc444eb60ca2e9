import DNSWire
import HTTPDNS

/// What is cached of a name and why, as `why.NAME CH TXT` has it.
package struct WhyReport: JSONRecord {
    /// Lines of `key=value` words, the last of which may be `reason=` and a sentence.
    package var lines: [String] = []

    package init() {}

    package init(lines: [String]) { self.lines = lines }

    package static let members: [JSONMember<Self>] = [
        .init("lines", strings: \.lines),
        .init { report, writer in writer.member("entries", objects: report.lines, write) },
    ]

    private static func write(_ line: String, to writer: inout JSONWriter) {
        for (key, value) in fields(of: line) {
            if let number = OutsideNumber(digits: value)?.within(0...Int(Int32.max)) {
                writer.member(key, number)
            } else {
                writer.member(key, value)
            }
        }
    }

    /// The fields of a line: after `reason=` and `decision=` comes a sentence.
    private static func fields(of line: String) -> [(key: String, value: String)] {
        var fields: [(key: String, value: String)] = []
        var rest = Substring(line)
        while let mark = rest.firstIndex(of: "=") {
            let key = String(rest[..<mark])
            rest = rest[rest.index(after: mark)...]
            let isSentence = key == "reason" || key == "decision"
            let value = isSentence ? rest : rest.prefix { $0 != " " }
            fields.append((key, String(value)))
            rest = rest[value.endIndex...].drop { $0 == " " }
        }
        return fields
    }
}
