import DNSWire
public import HTTPDNS

/// The result of `reload`.
public struct ReloadReport: JSONRecord {
    /// Why the file was refused, as `check` prints it; empty when it was accepted.
    @Member("errors") public var errors: [String] = []
    @Member("warnings") public var warnings: [String] = []
    /// Keys that have changed but take effect at the next start only.
    @Member("restart_needed") public var restartNeeded: [String] = []
    /// Whether a restart takes what was refused: the cause is what the process has from its start alone, as its environment.
    @Member("restart_mends") public var isMendedByRestart = false
    @Member("generation") public var generation = 0

    public init() {}

    /// What `reload` prints.
    public var output: CommandOutput {
        CommandOutput(
            errors.isEmpty ? "the configuration is taken" : "",
            remarks: errors + warnings.map { "warning: \($0)" }
                + restartNeeded.map { "warning: \($0) has changed: it takes effect at the next start" },
            // EX_CONFIG of sysexits.h.
            exitStatus: errors.isEmpty ? 0 : 78)
    }

    /// What `check` and `doctor` decide by.
    public var rows: [[String]] {
        errors.map { ["error", $0] } + warnings.map { ["warning", $0] } + (isMendedByRestart ? [["restart-mends"]] : [])
    }
}

/// The state of the switch.
public struct SwitchReport: JSONRecord {
    @Member("switch", "on", "off") public var isOn = true
    /// Whether the signed policy switches HTTPDNS off, whatever this machine's own switch is.
    @Member("off_by_policy", "yes", "no") public var isOffByPolicy = false
    /// Whether the switch is on disk, and so outlasts the process.
    @Member("stored", "yes", "no") public var isStored = true
    @Member("generation") public var generation = 0

    public init(isOn: Bool, isOffByPolicy: Bool, isStored: Bool, generation: Int) {
        (self.isOn, self.isOffByPolicy, self.isStored) = (isOn, isOffByPolicy, isStored)
        self.generation = generation
    }

    /// What `switch` prints.
    public var text: String {
        if isOffByPolicy {
            return "HTTPDNS is off by the signed policy, whatever this machine's own switch is (httpdnsd policy show)"
        }
        return isOn
            ? "HTTPDNS is on"
            : "HTTPDNS is off, until it is switched on\(isStored ? "" : " or the server starts again"): names go"
                + " to LocalDNS"
    }
}

/// The addresses reported as bad, ordered by weight, the highest first.
public struct BadAddressReport: JSONRecord {
    @Member("addresses") public var addresses: [BadAddress] = []
    /// Cached answers removed by the change.
    @Member("removed") public var removed = 0

    public init(addresses: [BadAddress], removed: Int) { (self.addresses, self.removed) = (addresses, removed) }

    /// An address reported as bad.
    public struct BadAddress: JSONRecord {
        @Member("address") public var address = ""
        /// In percent; 100 is one report just made.
        @Member("weight_percent") public var weight = 0
        /// Seconds until the report expires, if the address is not reported again.
        @Member("fades_seconds") public var fades = 0

        public init(address: String, weight: Int, fades: Int) {
            (self.address, self.weight, self.fades) = (address, weight, fades)
        }
    }

    /// A line for each address.
    public var text: String {
        guard !addresses.isEmpty else { return "" }
        let rows = addresses.map { [$0.address, "\($0.weight)%", $0.fades.durationText] }
        return ([["ADDRESS", "WEIGHT", "FADES IN"]] + rows).tableText
    }
}

/// What is cached of a name and why, as `why.NAME CH TXT` has it.
public struct WhyReport: JSONRecord {
    /// Lines of `key=value` words, the last of which may be `reason=` and a sentence.
    @Member("lines") public var lines: [String] = []

    public init(lines: [String]) { self.lines = lines }

    public func writeMembers(to writer: inout JSONWriter) {
        writeOwnMembers(to: &writer)
        writer.member("entries", objects: lines) { line, writer in
            for (key, value) in Self.fields(of: line) {
                if let number = OutsideNumber(digits: value)?.within(0...Int(Int32.max)) {
                    writer.member(key, number)
                } else {
                    writer.member(key, value)
                }
            }
        }
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
