package import HTTPDNS

/// How one question was answered, step by step.
package struct TraceReport: JSONRecord {
    package var name = ""
    package var type = ""
    /// The RCODE's name.
    package var status = ""
    /// The word for the source of the answer.
    package var source = ""
    package var steps: [Step] = []

    package init() {}

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "name": name = try reader.string()
        case "type": type = try reader.string()
        case "status": status = try reader.string()
        case "source": source = try reader.string()
        case "steps": steps = try reader.records()
        default: break
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("type", type)
        writer.member("status", status)
        writer.member("source", source)
        writer.member("steps", records: steps)
    }

    /// Whether the client got an answer.
    package var isAnswer: Bool { source != "none" }

    /// A line for the question, and one for each step.
    package var text: String {
        let width = steps.map(\.kind.count).max() ?? 0
        let lines = steps.map { step in
            let time = "\(step.milliseconds) ms"
            let padding = String(repeating: " ", count: max(0, 8 - time.count))
            return padding + time + "  " + step.kind + String(repeating: " ", count: width - step.kind.count) + "  "
                + step.text
        }
        return (["\(name) \(type)"] + lines).joined(separator: "\n")
    }

    /// One thing that happened.
    package struct Step: JSONRecord {
        /// Since the question.
        package var milliseconds = 0
        /// Such as `ask` or `reply`.
        package var kind = ""
        package var text = ""

        package init() {}

        package init(milliseconds: Int, kind: String, text: String) {
            (self.milliseconds, self.kind, self.text) = (milliseconds, kind, text)
        }

        package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "milliseconds": milliseconds = try reader.int()
            case "kind": kind = try reader.string()
            case "text": text = try reader.string()
            default: break
            }
        }

        package func write(to writer: inout JSONWriter) {
            writer.member("milliseconds", milliseconds)
            writer.member("kind", kind)
            writer.member("text", text)
        }
    }
}
