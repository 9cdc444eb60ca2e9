// Any bytes: the reader reads or refuses them, skips exactly what it can read, and reads again what was written from
// it.

import DNSWire

@testable import HTTPDNS

func fuzzJSONReader(_ bytes: [UInt8]) {
    let skipped = outcome { () throws(JSONError) in try JSONReader.read(bytes) { _ in } }
    let value = outcome { () throws(JSONError) in
        try JSONReader.read(bytes) { reader throws(JSONError) in try Value(&reader) }
    }
    switch (value, skipped) {
    case (.success(let value), .success):
        var text: [UInt8] = []
        value.write(to: &text)
        let again = outcome { () throws(JSONError) in
            try JSONReader.read(text) { reader throws(JSONError) in try Value(&reader) }
        }
        precondition(again == .success(value), "what was written reads otherwise")
    case (.failure(let error), .failure(let other)):
        precondition(error == other, "skipping fails elsewhere than reading")
        precondition((0...bytes.count).contains(error.offset), "an error outside the text")
    default:
        preconditionFailure("skipping and reading disagree")
    }
}

private func outcome<Success>(_ body: () throws(JSONError) -> Success) -> Result<Success, JSONError> {
    do {
        return .success(try body())
    } catch {
        return .failure(error)
    }
}

/// A complete value, needed only by this target.
private indirect enum Value: Equatable {
    case object([String], [Value])
    case array([Value])
    case string(String)
    case number(Int64)
    case boolean(Bool)
    case null

    init(_ reader: inout JSONReader) throws(JSONError) {
        switch try reader.kind() {
        case .object:
            var keys: [String] = []
            var values: [Value] = []
            try reader.object { reader, key throws(JSONError) in
                precondition(!keys.contains(key), "a key that came before")
                keys.append(key)
                values.append(try Value(&reader))
            }
            self = .object(keys, values)
        case .array:
            var values: [Value] = []
            try reader.array { reader throws(JSONError) in values.append(try Value(&reader)) }
            self = .array(values)
        case .string: self = .string(try reader.string())
        case .number: self = .number(try reader.integer().clamped(to: .min ... .max))
        case .boolean: self = .boolean(try reader.boolean())
        case .null:
            try reader.null()
            self = .null
        }
    }

    func write(to text: inout [UInt8]) {
        switch self {
        case .object(let keys, let values):
            text.append(UInt8(ascii: "{"))
            for (index, (key, value)) in zip(keys, values).enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                Self.write(key, to: &text)
                text.append(UInt8(ascii: ":"))
                value.write(to: &text)
            }
            text.append(UInt8(ascii: "}"))
        case .array(let values):
            text.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                value.write(to: &text)
            }
            text.append(UInt8(ascii: "]"))
        case .string(let string): Self.write(string, to: &text)
        case .number(let number): text += String(number).utf8
        case .boolean(let boolean): text += (boolean ? "true" : "false").utf8
        case .null: text += "null".utf8
        }
    }

    /// Writes a string, every UTF-16 code unit of it as an escape sequence.
    private static func write(_ string: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        for unit in string.utf16 {
            let digits = String(unit, radix: 16)
            text += ("\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits).utf8
        }
        text.append(UInt8(ascii: "\""))
    }
}
