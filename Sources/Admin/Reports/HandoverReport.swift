package import HTTPDNS

/// What a server has passed to the process that replaces it.
package struct HandoverReport: JSONRecord {
    /// The number of sockets of listen addresses.
    package var sockets = 0

    package init() {}

    package init(sockets: Int) { self.sockets = sockets }

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "sockets": sockets = try reader.int()
        default: break
        }
    }

    package func write(to writer: inout JSONWriter) { writer.member("sockets", sockets) }
}
