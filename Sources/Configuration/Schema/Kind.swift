/// How one type of value is read from a node and written as a default.
struct Kind<Value: Sendable>: Sendable {
    /// For the options page: `duration`, `list of suffixes`.
    let type: String
    /// Range, unit or choices.
    var range: String?
    /// Reads the node, or reports why not to the reading and returns nil.
    let read: @Sendable (TOMLNode, SettingPath, Reading) -> Value?
    /// The value as it would stand in the file: another text for every other value. Of tables only what shapes answers.
    let write: @Sendable (Value) -> String
    /// For tables: the keys inside.
    var children: @Sendable () -> [SchemaKey] = { [] }
    var isArrayOfTables = false
}

extension Kind {
    /// A value written as a string.
    ///
    /// - Parameters:
    ///   - expected: what to write, for the error about another type: `a duration such as "1.5s"`.
    ///   - isShown: whether an error may repeat the text as the file has it. Variables are never shown put in.
    ///   - isSecret: whether a text that is not empty is for its reader alone.
    ///   - parse: its error ends a sentence that begins with the value.
    static func text(
        _ type: String, range: String? = nil, expected: String, isShown: Bool = true, isSecret: Bool = false,
        parse: @escaping @Sendable (String) throws(ValueProblem) -> Value, write: @escaping @Sendable (Value) -> String
    ) -> Kind {
        Kind(
            type: type, range: range,
            read: { node, path, reading in
                guard let text = reading.text(node, path, expected: expected) else { return nil }
                do throws(ValueProblem) {
                    let value = try parse(text.value)
                    if isSecret { reading.noteSecret(path, text) }
                    return value
                } catch {
                    reading.fail(path, isShown ? "\(quoted(text.written)) \(error.text)" : error.text)
                    return nil
                }
            }, write: write)
    }

    /// The same for a value that is shown as its description.
    static func text(
        _ type: String, range: String? = nil, expected: String, isShown: Bool = true,
        parse: @escaping @Sendable (String) throws(ValueProblem) -> Value
    ) -> Kind where Value: CustomStringConvertible {
        .text(
            type, range: range, expected: expected, isShown: isShown, parse: parse, write: { written($0.description) })
    }

    /// The same for a value of which a text is one or is not.
    ///
    /// - Parameters:
    ///   - problem: ends the sentence about a text that is none: `is not an IP address`.
    ///   - value: what a text stands for; nil for none.
    static func text(
        _ type: String, range: String? = nil, expected: String, problem: String,
        value: @escaping @Sendable (String) -> Value?
    ) -> Kind where Value: CustomStringConvertible {
        .text(
            type, range: range, expected: expected,
            parse: { text throws(ValueProblem) in
                guard let value = value(text) else { throw ValueProblem(problem) }
                return value
            })
    }

    /// A list of values of one kind; each bad entry is reported by its number, counted from 1.
    static func list<Element>(of element: Kind<Element>, _ type: String) -> Kind where Value == [Element] {
        Kind(
            type: type, range: element.range,
            read: { node, path, reading in
                guard case .array(let nodes) = node.value else {
                    reading.fail(path, "must be a list in brackets, not \(node.kindName)")
                    return nil
                }
                let entries = reading.entries(nodes)
                // Before they are read: a message about one names its line.
                reading.lines.note(entries.map(\.line), of: path)
                let values = entries.enumerated()
                    .map { element.read($1, path.appending(entry: $0 + 1), reading) }
                return values.contains { $0 == nil } ? nil : values.compactMap { $0 }
            },
            write: { "[" + $0.map(element.write).joined(separator: ", ") + "]" })
    }

    /// A value that may be left empty.
    static func optional<Wrapped>(_ kind: Kind<Wrapped>) -> Kind where Value == Wrapped? {
        Kind(
            type: kind.type, range: kind.range,
            read: { node, path, reading in
                if case .string(let written) = node.value,
                    let text = try? WrittenText(written, environment: reading.environment), text.value.isEmpty
                {
                    return .some(nil)
                }
                return kind.read(node, path, reading).map { .some($0) }
            },
            write: { $0.map(kind.write) ?? "\"\"" })
    }

    /// `"auto"`, which is nil, or a list.
    ///
    /// - Parameters:
    ///   - type: of the list, for the options page.
    ///   - what: the list in words.
    ///   - example: an entry of it, in quotes.
    static func auto<List>(or list: Kind<List>, _ type: String, _ what: String, example: String) -> Kind
    where Value == List? {
        Kind(
            type: "auto, \(type)",
            read: { node, path, reading in
                if case .array = node.value { return list.read(node, path, reading).map { .some($0) } }
                guard let text = reading.text(node, path, expected: "\"auto\" or a \(what)") else { return nil }
                if text.value == "auto" { return .some(nil) }
                reading.fail(path, "must be \"auto\" or a list in brackets such as [\(example)]")
                return nil
            },
            write: { $0.map(list.write) ?? "\"auto\"" })
    }

    /// One of the texts of an enumeration.
    static func choice() -> Kind where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
        let choices = Value.allCases.map(\.rawValue)
        let list = choices.map { quoted($0) }.joined(separator: ", ")
        return .text(
            "choice", range: choices.joined(separator: " "), expected: "one of \(list)",
            parse: { text throws(ValueProblem) in
                if let value = Value(rawValue: text) { return value }
                let hint = nearest(to: text, among: choices).map { "; did you mean \(quoted($0))?" }
                throw ValueProblem("is not one of \(list)\(hint ?? "")")
            }, write: { written($0.rawValue) })
    }
}

extension Kind where Value == Bool {
    static var boolean: Kind {
        Kind(
            type: "boolean",
            read: { node, path, reading in
                let scalar = reading.scalar(node)
                if case .boolean(let value) = scalar.value { return value }
                reading.fail(path, "must be true or false without quotes, not \(scalar.shown ?? node.kindName)")
                return nil
            }, write: { String($0) })
    }
}

extension Kind where Value == Int {
    static func integer(in range: ClosedRange<Int>) -> Kind {
        let bounds =
            range.upperBound == .max ? "\(range.lowerBound) or more" : "\(range.lowerBound) to \(range.upperBound)"
        return Kind(
            type: "integer", range: bounds,
            read: { node, path, reading in
                let scalar = reading.scalar(node)
                guard case .integer(let value) = scalar.value else {
                    reading.fail(
                        path, "must be an integer without quotes, \(bounds), not \(scalar.shown ?? node.kindName)")
                    return nil
                }
                guard range.contains(value) else {
                    reading.fail(path, "\(scalar.shown ?? String(value)) is out of range; write \(bounds)")
                    return nil
                }
                return value
            }, write: { String($0) })
    }

    /// Bytes.
    static func size(in range: ClosedRange<Int>) -> Kind {
        let bounds = "\(SizeText.write(range.lowerBound)) to \(SizeText.write(range.upperBound))"
        return .text(
            "size", range: bounds, expected: "a size in quotes such as \"64MiB\"",
            parse: { text throws(ValueProblem) in
                let value = try SizeText.read(text)
                guard range.contains(value) else { throw ValueProblem("is out of range; write \(bounds)") }
                return value
            }, write: { written(SizeText.write($0)) })
    }
}

extension Kind where Value == Duration {
    /// - Parameter wholeSeconds: whether parts of a second are refused, as for all that ends up in a TTL.
    static func duration(in range: ClosedRange<Duration>, wholeSeconds: Bool = false) -> Kind {
        let limits = "\(DurationText.write(range.lowerBound)) to \(DurationText.write(range.upperBound))"
        let bounds = wholeSeconds ? limits + " in whole seconds" : limits
        return .text(
            "duration", range: bounds, expected: "a duration in quotes such as \"1.5s\"",
            parse: { text throws(ValueProblem) in
                let value = try DurationText.read(text)
                guard range.contains(value), !wholeSeconds || value.components.attoseconds == 0 else {
                    throw ValueProblem("is out of range; write \(bounds)")
                }
                return value
            }, write: { written(DurationText.write($0)) })
    }
}

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

    /// Digits, at most 12, with up to 9 decimals, then a unit.
    ///
    /// - Returns: in base units, less than 2^62.
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

/// Durations as written in the configuration.
enum DurationText {
    static func read(_ text: String) throws(ValueProblem) -> Duration {
        .nanoseconds(try Quantity.duration.read(text))
    }

    /// The shortest form: `1d`, `1.5s`, `200ms`, `0s`. Takes whole milliseconds.
    static func write(_ duration: Duration) -> String {
        let whole = Int64(duration / .milliseconds(1))
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

/// Sizes in bytes as written in the configuration.
enum SizeText {
    static func read(_ text: String) throws(ValueProblem) -> Int { Int(try Quantity.size.read(text)) }

    static func write(_ bytes: Int) -> String {
        let units = Quantity.size.units
        let unit = units.last { bytes % Int($0.size) == 0 && bytes != 0 } ?? units[0]
        return "\(bytes / Int(unit.size))\(unit.name)"
    }
}
