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

    /// The same for every entry of an array: `provider[].type`. The form of `Schema.keys`.
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
            case .key(let key): text += (text.isEmpty ? "" : ".") + (Self.isBare(key) ? key : quoted(key))
            case .entry(let number): text += "[\(number)]"
            }
        }
    }

    private static func isBare(_ key: String) -> Bool {
        !key.isEmpty && key.utf8.allSatisfy(isBareKeyByte)
    }
}

/// Whether TOML allows the byte in a key without quotes: ASCII letters, digits, `_` and `-`.
func isBareKeyByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "_"), UInt8(ascii: "-"): true
    default: false
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
