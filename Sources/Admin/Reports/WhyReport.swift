import DNSWire
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

    package func write(to writer: inout JSONWriter) {
        writer.member("lines", strings: lines)
        writer.member(
            "entries",
            array: { writer in
                for line in lines {
                    writer.object { writer in
                        for (key, value) in Self.fields(of: line) {
                            if let number = OutsideNumber(digits: value)?.within(0...Int(Int32.max)) {
                                writer.member(key, number)
                            } else {
                                writer.member(key, value)
                            }
                        }
                    }
                }
            })
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
