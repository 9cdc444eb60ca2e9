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
                guard let nodes = node.list else {
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
                if node.list != nil { return list.read(node, path, reading).map { .some($0) } }
                guard let text = reading.text(node, path, expected: "\"auto\" or a \(what)") else { return nil }
                if text.value == "auto" { return .some(nil) }
                reading.fail(path, "must be \"auto\" or a list in brackets such as [\(example)]")
                return nil
            },
            write: { $0.map(list.write) ?? "\"auto\"" })
    }

    /// One of the texts of an enumeration.
    static func choice() -> Kind where Value: RawRepresentable & CaseIterable & Equatable, Value.RawValue == String {
        .choice(among: Value.allCases.map { ($0.rawValue, $0) })
    }

    /// One of these words, each with what it stands for.
    static func choice(among values: [(word: String, value: Value)]) -> Kind where Value: Equatable {
        let choices = values.map(\.word)
        let list = choices.map { quoted($0) }.joined(separator: ", ")
        return .text(
            "choice", range: choices.joined(separator: " "), expected: "one of \(list)",
            parse: { text throws(ValueProblem) in
                if let (_, value) = values.first(where: { $0.word == text }) { return value }
                let hint = nearest(to: text, among: choices).map { "; did you mean \(quoted($0))?" }
                throw ValueProblem("is not one of \(list)\(hint ?? "")")
            }, write: { value in written(values.first { $0.value == value }?.word ?? "") })
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
        let bounds = "\(Quantity.size.write(range.lowerBound)) to \(Quantity.size.write(range.upperBound))"
        return .text(
            "size", range: bounds, expected: "a size in quotes such as \"64MiB\"",
            parse: { text throws(ValueProblem) in
                let value = Int(try Quantity.size.read(text))
                guard range.contains(value) else { throw ValueProblem("is out of range; write \(bounds)") }
                return value
            }, write: { written(Quantity.size.write($0)) })
    }
}

extension Kind where Value == Duration {
    /// - Parameter wholeSeconds: whether parts of a second are refused, as for all that ends up in a TTL.
    static func duration(in range: ClosedRange<Duration>, wholeSeconds: Bool = false) -> Kind {
        let limits = "\(range.lowerBound.written) to \(range.upperBound.written)"
        let bounds = wholeSeconds ? limits + " in whole seconds" : limits
        return .text(
            "duration", range: bounds, expected: "a duration in quotes such as \"1.5s\"",
            parse: { text throws(ValueProblem) in
                let value = try Duration(written: text)
                guard range.contains(value), !wholeSeconds || value.components.attoseconds == 0 else {
                    throw ValueProblem("is out of range; write \(bounds)")
                }
                return value
            }, write: { written($0.written) })
    }
}

/// One key of the configuration, for the options page and for messages.
public struct SchemaKey: Hashable, Sendable {
    /// `listen.udp_threads`, `provider[].type`, `cache.stale.max`.
    public var path: String
    /// `duration`, `list of suffixes`, ...
    public var type: String
    /// Range, unit or choices; nil where the type says it all.
    public var range: String?
    /// As it would be written in the file; for a value that depends on others, what it is.
    public var defaultText: String
    /// Whether an answer may be another one under another value, as `Setting` says.
    public var shapesAnswers: Bool
}
