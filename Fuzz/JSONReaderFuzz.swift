// Any bytes: they are read or refused, and what was written of a value reads as the same value.

import DNSWire

@testable import HTTPDNS

func fuzzJSONReader(_ bytes: [UInt8]) {
    do throws(JSONError) {
        let text = try JSONReader.read(bytes).written
        guard let again = try? JSONReader.read(text).written else { preconditionFailure("what was written is refused") }
        precondition(again == text, "what was written reads otherwise")
    } catch {
        precondition((0...bytes.count).contains(error.offset), "an error outside the text")
    }
}

extension JSONNode {
    /// A text of this value, needed only by this target.
    fileprivate var written: [UInt8] {
        switch content {
        case .object(let members):
            let texts = members.map { Self.written($0.key) + [UInt8(ascii: ":")] + $0.value.written }
            return [UInt8(ascii: "{")] + texts.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "}")]
        case .array(let elements):
            let texts = elements.map(\.written)
            return [UInt8(ascii: "[")] + texts.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
        case .string(let string): return Self.written(string)
        case .number(let number): return Array(String(number.clamped(to: Int64.min ... .max)).utf8)
        case .boolean(let boolean): return Array((boolean ? "true" : "false").utf8)
        case .null: return Array("null".utf8)
        }
    }

    /// A string, every UTF-16 code unit of it as an escape sequence.
    private static func written(_ string: String) -> [UInt8] {
        let units = string.utf16.flatMap { unit in
            let digits = String(unit, radix: 16)
            return ("\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits).utf8
        }
        return [UInt8(ascii: "\"")] + units + [UInt8(ascii: "\"")]
    }
}
