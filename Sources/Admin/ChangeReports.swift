package import HTTPDNS

// What commands that change something report.

/// What `cache flush` did.
package struct FlushReport: JSONRecord {
    /// Answers forgotten.
    package var removed = 0

    package init() {}

    package init(removed: Int) { self.removed = removed }

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        if key == "removed" { removed = try reader.int() }
    }

    package func write(to writer: inout JSONWriter) { writer.member("removed", removed) }
}

/// How the switch stands.
package struct SwitchReport: JSONRecord {
    package var isOn = true
    package var generation = 0

    package init() {}

    package init(isOn: Bool, generation: Int) {
        self.isOn = isOn
        self.generation = generation
    }

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "switch": isOn = try reader.string() == "on"
        case "generation": generation = try reader.int()
        default: break
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("switch", isOn ? "on" : "off")
        writer.member("generation", generation)
    }
}

/// The addresses reported as bad, the worst first.
package struct BadAddressReport: JSONRecord {
    package var addresses: [BadAddress] = []
    /// Cached answers forgotten by the change.
    package var removed = 0

    package init() {}

    package init(addresses: [BadAddress], removed: Int = 0) {
        self.addresses = addresses
        self.removed = removed
    }

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "addresses": addresses = try reader.records()
        case "removed": removed = try reader.int()
        default: break
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("addresses", records: addresses)
        writer.member("removed", removed)
    }

    /// One of them.
    package struct BadAddress: JSONRecord {
        package var address = ""
        /// 100 is one report just made.
        package var weight = 0
        /// Seconds until it is forgotten, if it is not reported again.
        package var fades = 0

        package init() {}

        package init(address: String, weight: Int, fades: Int) {
            self.address = address
            self.weight = weight
            self.fades = fades
        }

        package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
            switch key {
            case "address": address = try reader.string()
            case "weight_percent": weight = try reader.int()
            case "fades_seconds": fades = try reader.int()
            default: break
            }
        }

        package func write(to writer: inout JSONWriter) {
            writer.member("address", address)
            writer.member("weight_percent", weight)
            writer.member("fades_seconds", fades)
        }
    }
}

/// What came of `reload`.
package struct ReloadReport: JSONRecord {
    /// Why the file was refused, as `check` prints it; empty when it was taken.
    package var errors: [String] = []
    package var warnings: [String] = []
    /// Keys that have changed and take effect at the next start only.
    package var restartNeeded: [String] = []
    package var generation = 0

    package init() {}

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "errors": errors = try reader.strings()
        case "warnings": warnings = try reader.strings()
        case "restart_needed": restartNeeded = try reader.strings()
        case "generation": generation = try reader.int()
        default: break
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("errors", strings: errors)
        writer.member("warnings", strings: warnings)
        writer.member("restart_needed", strings: restartNeeded)
        writer.member("generation", generation)
    }
}

/// Why a request was not done.
package struct FaultReport: JSONRecord {
    package var error = ""

    package init() {}

    package init(error: String) { self.error = error }

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        if key == "error" { error = try reader.string() }
    }

    package func write(to writer: inout JSONWriter) { writer.member("error", error) }
}
