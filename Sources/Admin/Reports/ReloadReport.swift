package import HTTPDNS

/// The result of `reload`.
package struct ReloadReport: JSONRecord {
    /// Why the file was refused, as `check` prints it; empty when it was accepted.
    package var errors: [String] = []
    package var warnings: [String] = []
    /// Keys that have changed but take effect at the next start only.
    package var restartNeeded: [String] = []
    /// Whether a restart takes what was refused: the cause is what the process has from its start alone, as its environment.
    package var isMendedByRestart = false
    package var generation = 0

    package init() {}

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "errors": errors = try reader.strings()
        case "warnings": warnings = try reader.strings()
        case "restart_needed": restartNeeded = try reader.strings()
        case "restart_mends": isMendedByRestart = try reader.boolean()
        case "generation": generation = try reader.int()
        default: break
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("errors", strings: errors)
        writer.member("warnings", strings: warnings)
        writer.member("restart_needed", strings: restartNeeded)
        writer.member("restart_mends", isMendedByRestart)
        writer.member("generation", generation)
    }
}
