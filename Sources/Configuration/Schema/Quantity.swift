/// A number with a unit, as durations and sizes are written: `1.5s`, `64MiB`.
struct Quantity {
    /// The number in units of 10^-9.
    private let billionths: UInt128
    let unit: Substring

    /// Digits, at most 12, with up to 9 decimals, then the unit; nil for anything else.
    init?(_ text: String) {
        let number = text.prefix { $0 == "." || ("0"..."9").contains($0) }
        let parts = number.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), (1...12).contains(parts[0].utf8.count),
            parts.count == 1 || (1...9).contains(parts[1].utf8.count), let whole = UInt128(parts[0])
        else { return nil }
        let decimals = parts.count == 2 ? String(parts[1]) : ""
        guard let fraction = UInt128(decimals + String(repeating: "0", count: 9 - decimals.utf8.count)) else {
            return nil
        }
        billionths = whole * 1_000_000_000 + fraction
        unit = text[number.endIndex...]
    }

    /// The number in base units, one written unit being `factor` of them; nil past 2^62 or between two base units.
    func scaled(by factor: UInt64) -> Int64? {
        let (total, rest) = (billionths * UInt128(factor)).quotientAndRemainder(dividingBy: 1_000_000_000)
        guard rest == 0, total < 1 << 62 else { return nil }
        return Int64(total)
    }
}

/// Durations as written in the configuration.
enum DurationText {
    /// Units with their length in nanoseconds, smallest first.
    static let units: [(name: String, nanoseconds: UInt64)] = [
        ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ]

    static func read(_ text: String) throws(ValueProblem) -> Duration {
        guard let quantity = Quantity(text) else { throw ValueProblem("is not a duration; write one such as \"1.5s\"") }
        guard let unit = units.first(where: { $0.name == quantity.unit }) else {
            let what = quantity.unit.isEmpty ? "has no unit" : "has an unknown unit"
            throw ValueProblem("\(what); write ms, s, m, h or d, as in \"1.5s\"")
        }
        guard let nanoseconds = quantity.scaled(by: unit.nanoseconds) else {
            throw ValueProblem("is not a duration that can be counted in nanoseconds")
        }
        return .nanoseconds(nanoseconds)
    }

    /// The shortest form: `1d`, `1.5s`, `200ms`, `0s`. Takes whole milliseconds.
    static func write(_ duration: Duration) -> String {
        let milliseconds = duration / .milliseconds(1)
        let whole = Int64(milliseconds)
        if whole == 0 { return "0s" }
        for unit in units.reversed() {
            let length = Int64(unit.nanoseconds / 1_000_000)
            if whole % length == 0, unit.name != "ms" || whole < 1000 { return "\(whole / length)\(unit.name)" }
        }
        var decimals = String(String(1000 + whole % 1000).dropFirst())
        while decimals.hasSuffix("0") { decimals.removeLast() }
        return "\(whole / 1000).\(decimals)s"
    }
}

/// Sizes in bytes as written in the configuration.
enum SizeText {
    /// Units with their bytes, smallest first.
    static let units: [(name: String, bytes: UInt64)] = [
        ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30),
    ]

    static func read(_ text: String) throws(ValueProblem) -> Int {
        guard let quantity = Quantity(text) else { throw ValueProblem("is not a size; write one such as \"64MiB\"") }
        guard let unit = units.first(where: { $0.name == quantity.unit }) else {
            let what = quantity.unit.isEmpty ? "has no unit" : "has an unknown unit"
            throw ValueProblem("\(what); write B, KiB, MiB or GiB, as in \"64MiB\"")
        }
        guard let bytes = quantity.scaled(by: unit.bytes) else { throw ValueProblem("is not a whole number of bytes") }
        return Int(bytes)
    }

    static func write(_ bytes: Int) -> String {
        let unit = units.last { bytes % Int($0.bytes) == 0 && bytes != 0 } ?? units[0]
        return "\(bytes / Int(unit.bytes))\(unit.name)"
    }
}
