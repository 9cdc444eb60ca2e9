package import HTTPDNS

extension StatusReport {
    /// The collector of dnstap.
    package struct Dnstap: JSONRecord {
        /// As in `log.dnstap`.
        package var collector = ""
        /// `connecting`, `connected` or `unavailable`.
        package var state = ""
        /// Why it cannot be reached; empty while there is no reason.
        package var error = ""
        /// Messages since the start: those sent, and those dropped.
        package var sent = 0
        package var dropped = 0

        package init() {}

        package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "collector": collector = try reader.string()
            case "state": state = try reader.string()
            case "error": error = try reader.string()
            case "sent": sent = try reader.int()
            case "dropped": dropped = try reader.int()
            default: break
            }
        }

        package func write(to writer: inout JSONWriter) {
            writer.member("collector", collector)
            writer.member("state", state)
            writer.member("error", error)
            writer.member("sent", sent)
            writer.member("dropped", dropped)
        }

        /// Its row of the text.
        var text: String {
            "\(collector) \(state)\(error.isEmpty ? "" : ": \(error)"); \(counted(sent, "message")) sent, \(dropped) dropped"
        }
    }
}
