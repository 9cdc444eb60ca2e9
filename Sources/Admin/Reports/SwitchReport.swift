package import HTTPDNS

/// The state of the switch.
package struct SwitchReport: JSONRecord {
    package var isOn = true
    /// Whether the signed policy switches HTTPDNS off, whatever this machine's own switch is.
    package var isOffByPolicy = false
    package var generation = 0

    package init() {}

    package init(isOn: Bool, isOffByPolicy: Bool, generation: Int) {
        self.isOn = isOn
        self.isOffByPolicy = isOffByPolicy
        self.generation = generation
    }

    package mutating func read(_ key: String, from reader: inout JSONReader) throws(JSONError) {
        switch key {
        case "switch": isOn = try reader.string() == "on"
        case "off_by_policy": isOffByPolicy = try reader.string() == "yes"
        case "generation": generation = try reader.int()
        default: break
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.member("switch", isOn ? "on" : "off")
        writer.member("off_by_policy", isOffByPolicy ? "yes" : "no")
        writer.member("generation", generation)
    }
}
