// Lenient reading of services' replies: a value of an unexpected kind is skipped, not refused.

import DNSWire

extension JSONReader {
    /// Reads the strings of an array; other elements are empty strings.
    mutating func strings() throws(JSONError) -> [String] {
        var strings: [String] = []
        try array { reader throws(JSONError) in strings.append(try reader.stringIfAny() ?? "") }
        return strings
    }

    /// Reads a string, or leaves a value of another kind to be skipped.
    mutating func stringIfAny() throws(JSONError) -> String? { try kind() == .string ? string() : nil }

    /// Reads the numbers of an array; nil for other elements.
    mutating func integers() throws(JSONError) -> [OutsideNumber?] {
        var numbers: [OutsideNumber?] = []
        try array { reader throws(JSONError) in
            numbers.append(try reader.kind() == .number ? try reader.integer() : nil)
        }
        return numbers
    }
}
