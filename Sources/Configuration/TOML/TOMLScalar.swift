/// The values of TOML 1.0 without quotes and brackets.
enum TOMLScalar {
    /// What the text stands for. The problem does not repeat it, as it may be a secret without its quotes.
    static func value(of text: ArraySlice<UInt8>) throws(ValueProblem) -> TOMLNode.Value {
        for (word, value) in [("true", true), ("false", false)] where text.elementsEqual(word.utf8) {
            return .boolean(value)
        }
        let digits = text.prefix { isDigit($0) }.count
        let mark = text.dropFirst(digits).first
        if digits == 4 && mark == UInt8(ascii: "-") || digits == 2 && mark == UInt8(ascii: ":") {
            guard TOMLDate.isValid(text) else {
                throw ValueProblem("is not a date or time; write one such as 1979-05-27T07:32:00Z")
            }
            return .date(String(decoding: text, as: UTF8.self))
        }
        guard let value = try integer(text) ?? float(text) else {
            throw ValueProblem("is not a number, true or false; text must stand in quotes")
        }
        return value
    }

    private static func integer(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> TOMLNode.Value? {
        let bases = ["0x": 16, "0o": 8, "0b": 2]
        let radix = bases[String(decoding: text.prefix(2), as: UTF8.self)]
        let digits = radix == nil ? text.dropFirst(signs(text)) : text.dropFirst(2)
        guard isDigits(digits, radix: radix ?? 10), radix != nil || hasNoLeadingZero(digits) else { return nil }
        let number = (radix == nil ? text : digits).filter { $0 != UInt8(ascii: "_") }
        guard let value = Int(String(decoding: number, as: UTF8.self), radix: radix ?? 10) else {
            throw ValueProblem("is not an integer of 64 bits; write \(Int.min) to \(Int.max)")
        }
        return .integer(value)
    }

    private static func float(_ text: ArraySlice<UInt8>) -> TOMLNode.Value? {
        let unsigned = text.dropFirst(signs(text))
        if !["inf", "nan"].contains(where: { unsigned.elementsEqual($0.utf8) }) {
            let mantissa = unsigned.prefix { $0 != UInt8(ascii: "e") && $0 != UInt8(ascii: "E") }
            let whole = mantissa.prefix { $0 != UInt8(ascii: ".") }
            guard isDigits(whole), hasNoLeadingZero(whole) else { return nil }
            if whole.count < mantissa.count, !isDigits(mantissa.dropFirst(whole.count + 1)) { return nil }
            if mantissa.count < unsigned.count {
                let exponent = unsigned.dropFirst(mantissa.count + 1)
                guard isDigits(exponent.dropFirst(signs(exponent))) else { return nil }
            }
        }
        return Double(String(decoding: text.filter { $0 != UInt8(ascii: "_") }, as: UTF8.self)).map { .float($0) }
    }

    /// How many signs the text begins with, 0 or 1.
    private static func signs(_ text: ArraySlice<UInt8>) -> Int { "+-".utf8.contains(text.first ?? 0) ? 1 : 0 }

    private static func hasNoLeadingZero(_ digits: ArraySlice<UInt8>) -> Bool {
        digits.count == 1 || digits.first != UInt8(ascii: "0")
    }

    /// One or more digits, with single underscores between them.
    private static func isDigits(_ text: ArraySlice<UInt8>, radix: Int = 10) -> Bool {
        text.split(separator: UInt8(ascii: "_"), omittingEmptySubsequences: false)
            .allSatisfy { !$0.isEmpty && $0.allSatisfy { isDigit($0, radix: radix) } }
    }
}

/// Whether the byte is an ASCII digit of this base, 16 at most.
func isDigit(_ byte: UInt8, radix: Int = 10) -> Bool {
    (Character(UnicodeScalar(byte)).hexDigitValue ?? radix) < radix
}
