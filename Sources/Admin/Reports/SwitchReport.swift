package import HTTPDNS

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
