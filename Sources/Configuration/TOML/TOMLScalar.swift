import DNSWire
import HTTPDNS

/// The values of TOML 1.0 without quotes and brackets.
extension TOMLNode.Value {
    /// What the text stands for. The problem does not repeat it, as it may be a secret without its quotes.
    static func scalar(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> TOMLNode.Value {
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
        guard let value = try readInteger(text) ?? readFloat(text) else {
            throw ValueProblem("is not a number, true or false; text must stand in quotes")
        }
        return value
    }

    private static func readInteger(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> TOMLNode.Value? {
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

    private static func readFloat(_ text: ArraySlice<UInt8>) -> TOMLNode.Value? {
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

/// A date, a time or both, as TOML 1.0 takes them from RFC 3339: `1979-05-27`, `07:32:00.5`, `1979-05-27T07:32:00Z`.
struct TOMLDate {
    private var rest: ArraySlice<UInt8>
    /// Those that were taken, from the front.
    private var numbers: [Int] = []

    private init(_ text: some Sequence<UInt8>) { rest = Array(text)[...] }

    static func isValid(_ text: ArraySlice<UInt8>) -> Bool {
        var time = TOMLDate(text)
        if time.time() { return time.rest.isEmpty }
        var date = TOMLDate(text)
        guard date.day() else { return false }
        if date.rest.isEmpty { return true }
        guard date.take("Tt "), date.time() else { return false }
        return date.rest.isEmpty || date.zone() && date.rest.isEmpty
    }

    /// Seconds since 1970 of a date and time in UTC, such as `1979-05-27T07:32:00Z`; nil for any other valid text.
    ///
    /// - Parameter text: a valid one.
    static func seconds(_ text: String) -> Int64? {
        var date = TOMLDate(text.utf8)
        guard date.day(), date.take("Tt "), date.time(), date.take("Zz"), date.rest.isEmpty else { return nil }
        let parts = date.numbers.map(Int64.init)
        return HTTPDate.daysBefore(parts[0], parts[1], parts[2]) * 86_400
            + parts[3] * 3_600 + parts[4] * 60 + parts[5]
    }

    private mutating func day() -> Bool {
        guard let year = number(of: 4, 0...9999), take("-"), let month = number(of: 2, 1...12), take("-") else {
            return false
        }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let days = month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
        return number(of: 2, 1...days) != nil
    }

    private mutating func time() -> Bool {
        // A minute may have a leap second.
        guard clock(), take(":"), number(of: 2, 0...60) != nil else { return false }
        guard take(".") else { return true }
        let fraction = rest.prefix { isDigit($0) }
        rest = rest[fraction.endIndex...]
        return !fraction.isEmpty
    }

    private mutating func zone() -> Bool { take("Zz") || take("+-") && clock() }

    /// Hours and minutes.
    private mutating func clock() -> Bool {
        number(of: 2, 0...23) != nil && take(":") && number(of: 2, 0...59) != nil
    }

    private mutating func take(_ any: String) -> Bool {
        guard let first = rest.first, any.utf8.contains(first) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private mutating func number(of digits: Int, _ range: ClosedRange<Int>) -> Int? {
        let text = rest.prefix(digits)
        guard text.count == digits, let number = OutsideNumber(digits: text)?.within(range) else { return nil }
        rest = rest.dropFirst(digits)
        numbers.append(number)
        return number
    }
}
