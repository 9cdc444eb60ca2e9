import HTTPDNS

/// Where a value stands in a file: keys from the outside in, and for an entry of an array its number, counted from 1.
struct SettingPath: Hashable, Sendable {
    enum Part: Hashable, Sendable {
        case key(String)
        case entry(Int)
    }

    let parts: [Part]

    static let root = SettingPath()

    /// The place of a key of the root, and of others in it.
    init(_ keys: String...) { parts = keys.map { .key($0) } }

    init(parts: [Part]) { self.parts = parts }

    func appending(key: String) -> SettingPath { SettingPath(parts: parts + [.key(key)]) }

    /// - Parameter entry: counted from 1.
    func appending(entry: Int) -> SettingPath { SettingPath(parts: parts + [.entry(entry)]) }

    /// The table or array that holds this; nil for the root.
    var parent: SettingPath? { parts.isEmpty ? nil : SettingPath(parts: parts.dropLast()) }

    /// Whether this is `ancestor` or inside it.
    func isWithin(_ ancestor: SettingPath) -> Bool { parts.starts(with: ancestor.parts) }

    /// The same for every entry of an array: `provider[].type`. The form of `Configuration.allKeys`.
    var schemaPath: String {
        parts.reduce(into: "") { text, part in
            switch part {
            case .key(let key): text += (text.isEmpty ? "" : ".") + key
            case .entry: text += "[]"
            }
        }
    }
}

extension SettingPath: CustomStringConvertible {
    /// `provider[1].type`; keys that TOML must quote are quoted.
    var description: String {
        parts.reduce(into: "") { text, part in
            switch part {
            case .key(let key):
                let isBare = !key.isEmpty && key.utf8.allSatisfy(\.isWordByte)
                text += (text.isEmpty ? "" : ".") + (isBare ? key : quoted(key))
            case .entry(let number): text += "[\(number)]"
            }
        }
    }
}

/// Text from a file in double quotes, safe for one line of a terminal: control characters become `\u{...}`, and
/// what is past 80 characters becomes `...`.
func quoted(_ text: some StringProtocol) -> String { quoted(text, limit: 80) }

/// The same in full.
func written(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy {
        (0x20...0x7e).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
    }
    return isPlain ? "\"\(text)\"" : quoted(text, limit: .max)
}

private func quoted(_ text: some StringProtocol, limit: Int) -> String {
    var result = "\""
    for (index, scalar) in text.unicodeScalars.enumerated() {
        if index == limit {
            result += "..."
            break
        }
        if scalar.isDisplayControl {
            result += "\\u{\(String(scalar.value, radix: 16))}"
        } else {
            result += scalar == "\"" || scalar == "\\" ? "\\\(scalar)" : String(scalar)
        }
    }
    return result + "\""
}

/// One thing to tell the user about a configuration file: always one line of text, never a secret.
public struct Diagnostic: Hashable, Sendable {
    /// The file as the user named it.
    public var file: String
    /// Counted from 1; nil when the finding belongs to no line.
    public var line: Int?
    /// Counted from 1; only syntax errors have one.
    public var column: Int?
    /// The key's path such as `provider[1].type` (entries counted from 1); nil for the file as a whole.
    public var key: String?
    /// What is wrong and what would be right.
    public var message: String
    /// Whether the cause is what a process has from its start alone: another process of the service may have no such problem.
    public var isOfTheStart = false
    /// Whether the cause is that this process may not read a file: one with the rights of root may.
    public var isDenied = false

    /// By line, those without one at the end; within a line in the order of finding.
    static func sorted(_ all: [Diagnostic]) -> [Diagnostic] {
        all.enumerated().sorted { left, right in
            (left.element.line ?? .max, left.offset) < (right.element.line ?? .max, right.offset)
        }.map(\.element)
    }
}

extension Diagnostic: CustomStringConvertible {
    /// `httpdnsd.toml:12: provider[1].typ: unknown key; did you mean "type"?`
    public var description: String {
        let place = [file, line.map { String($0) }, column.map { String($0) }].compactMap { $0 }
        return ([place.joined(separator: ":"), key, message].compactMap { $0 }).joined(separator: ": ")
    }
}

/// Everything that is wrong with a configuration file, sorted by line; at least one entry.
public struct ConfigurationError: Error, Hashable, Sendable {
    public var diagnostics: [Diagnostic]
}

extension ConfigurationError: CustomStringConvertible {
    /// That a file cannot be used at all.
    init(_ file: String, _ problem: ValueProblem, line: Int? = nil) {
        diagnostics = [
            Diagnostic(
                file: file, line: line, message: problem.text, isOfTheStart: problem.isOfTheStart,
                isDenied: problem.isDenied)
        ]
    }

    /// One line for each error, without a newline at the end.
    public var description: String { diagnostics.map(\.description).joined(separator: "\n") }
}

/// What is wrong with one value or file, as the end of a sentence that begins with it: `has no unit; write ...`.
public struct ValueProblem: Error, Hashable, Sendable {
    public var text: String
    /// As of a `Diagnostic`.
    var isOfTheStart: Bool
    var isDenied: Bool

    init(_ text: String, isOfTheStart: Bool = false, isDenied: Bool = false) {
        (self.text, self.isOfTheStart, self.isDenied) = (text, isOfTheStart, isDenied)
    }
}

/// How many single characters must be inserted, deleted, replaced or swapped with their neighbour to turn one text
/// into the other. Texts are key names and choices: a few dozen bytes.
private func editDistance(_ left: String, _ right: String) -> Int {
    let left = Array(left.utf8)
    let right = Array(right.utf8)
    var beforeLast: [Int] = []
    var last = Array(0...right.count)
    for row in left.indices {
        var current = [row + 1]
        for column in right.indices {
            let replaced = last[column] + (left[row] == right[column] ? 0 : 1)
            var best = min(replaced, last[column + 1] + 1, current[column] + 1)
            if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                best = min(best, beforeLast[column - 1] + 1)
            }
            current.append(best)
        }
        beforeLast = last
        last = current
    }
    return last[right.count]
}

/// The candidate that `text` was probably meant to be: the nearest one, if at most a third of it differs.
public func nearest(to text: String, among candidates: [String]) -> String? {
    guard text.utf8.count <= 64 else { return nil }
    let ranked = candidates.map { (text: $0, distance: editDistance(text, $0)) }
    guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
    return best.distance <= max(1, max(best.text.utf8.count, text.utf8.count) / 3) ? best.text : nil
}
