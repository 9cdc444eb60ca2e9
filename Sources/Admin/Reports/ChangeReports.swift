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

/// The state of the switch.
package struct SwitchReport: JSONRecord {
    package var isOn = true
    /// Whether the signed policy switches HTTPDNS off, whatever this machine's own switch is.
    package var isOffByPolicy = false
    /// Whether the switch is on disk, and so outlasts the process. Older servers do not say so: they are taken to do it.
    package var isStored = true
    package var generation = 0

    package init() {}

    package init(isOn: Bool, isOffByPolicy: Bool, isStored: Bool, generation: Int) {
        self.isOn = isOn
        self.isOffByPolicy = isOffByPolicy
        self.isStored = isStored
        self.generation = generation
    }

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "switch": isOn = try reader.string() == "on"
        case "off_by_policy": isOffByPolicy = try reader.string() == "yes"
        case "stored": isStored = try reader.string() == "yes"
        case "generation": generation = try reader.int()
        default: break
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("switch", isOn ? "on" : "off")
        writer.member("off_by_policy", isOffByPolicy ? "yes" : "no")
        writer.member("stored", isStored ? "yes" : "no")
        writer.member("generation", generation)
    }
}

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
