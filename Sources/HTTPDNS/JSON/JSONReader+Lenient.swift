// What services' replies are read with: a value of another kind than expected is passed over, not refused.

extension JSONReader {
    /// Reads the strings of an array; its other elements are passed over.
    mutating func strings() throws(JSONError) -> [String] {
        var strings: [String] = []
        try array { reader throws(JSONError) in
            if let text = try reader.stringIfAny() { strings.append(text) }
        }
        return strings
    }

    /// Reads a string, or leaves a value of another kind to be skipped.
    mutating func stringIfAny() throws(JSONError) -> String? { try kind() == .string ? string() : nil }

    /// Reads the numbers of an array; nil stands for other elements.
    mutating func integers() throws(JSONError) -> [Int64?] {
        var numbers: [Int64?] = []
        try array { reader throws(JSONError) in
            numbers.append(try reader.kind() == .number ? try reader.integer() : nil)
        }
        return numbers
    }
}
