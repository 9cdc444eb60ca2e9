/// Numbers with a unit, as they are written in the configuration: `1.5s`, `64MiB`.
struct Quantity: Sendable {
    // For messages: what it is, an example, and what it is counted in.
    private let noun: String
    private let example: String
    private let base: String
    /// Each unit in base units, smallest first.
    let units: [(name: String, size: UInt64)]

    /// In nanoseconds.
    static let duration = Quantity(
        noun: "duration", example: "1.5s", base: "a duration that can be counted in nanoseconds",
        units: [
            ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000),
            ("d", 86_400_000_000_000),
        ])
    /// In bytes.
    static let size = Quantity(
        noun: "size", example: "64MiB", base: "a whole number of bytes",
        units: [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)])

    /// Digits, at most 12, with up to 9 decimals, then a unit; in base units, less than 2^62.
    func read(_ text: String) throws(ValueProblem) -> Int64 {
        guard let (billionths, name) = Self.number(text) else {
            throw ValueProblem("is not a \(noun); write one such as \"\(example)\"")
        }
        guard let unit = units.first(where: { $0.name == name }) else {
            let names = units.map(\.name)
            let list = names.dropLast().joined(separator: ", ") + " or \(names.last ?? "")"
            throw ValueProblem(
                "has \(name.isEmpty ? "no" : "an unknown") unit; write \(list), as in \"\(example)\"")
        }
        let (total, rest) = (billionths * UInt128(unit.size)).quotientAndRemainder(dividingBy: 1_000_000_000)
        guard rest == 0, total < 1 << 62 else { throw ValueProblem("is not \(base)") }
        return Int64(total)
    }

    /// In the largest unit of which it is a whole number.
    func write(_ amount: Int) -> String {
        let unit = units.last { amount % Int($0.size) == 0 && amount != 0 } ?? units[0]
        return "\(amount / Int(unit.size))\(unit.name)"
    }

    /// The number in units of 10^-9, and what follows it; nil for anything else.
    private static func number(_ text: String) -> (billionths: UInt128, unit: Substring)? {
        let number = text.prefix { $0 == "." || ("0"..."9").contains($0) }
        let parts = number.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), (1...12).contains(parts[0].utf8.count),
            parts.count == 1 || (1...9).contains(parts[1].utf8.count), let whole = UInt128(parts[0])
        else { return nil }
        let decimals = parts.count == 2 ? String(parts[1]) : ""
        guard let fraction = UInt128(decimals + String(repeating: "0", count: 9 - decimals.utf8.count)) else {
            return nil
        }
        return (whole * 1_000_000_000 + fraction, text[number.endIndex...])
    }
}

extension Duration {
    /// One as it is written in the configuration.
    init(written text: String) throws(ValueProblem) { self = .nanoseconds(try Quantity.duration.read(text)) }

    /// The shortest form: `1d`, `1.5s`, `200ms`, `0s`. Takes whole milliseconds.
    var written: String {
        let whole = Int64(self / .milliseconds(1))
        if whole == 0 { return "0s" }
        for unit in Quantity.duration.units.reversed() {
            let length = Int64(unit.size / 1_000_000)
            if whole % length == 0, unit.name != "ms" || whole < 1000 { return "\(whole / length)\(unit.name)" }
        }
        var decimals = String(String(1000 + whole % 1000).dropFirst())
        while decimals.hasSuffix("0") { decimals.removeLast() }
        return "\(whole / 1000).\(decimals)s"
    }
}
