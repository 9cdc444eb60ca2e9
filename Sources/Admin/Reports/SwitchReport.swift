package import HTTPDNS

/// The state of the switch.
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
