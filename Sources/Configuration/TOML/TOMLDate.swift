import DNSWire
import HTTPDNS

/// A date, a time or both, as TOML 1.0 takes them from RFC 3339: `1979-05-27`, `07:32:00.5`, `1979-05-27T07:32:00Z`.
struct TOMLDate {
    private var rest: ArraySlice<UInt8>

    static func isValid(_ text: ArraySlice<UInt8>) -> Bool {
        var date = TOMLDate(rest: text)
        if date.time() { return date.rest.isEmpty }
        date.rest = text
        guard date.day() else { return false }
        if date.rest.isEmpty { return true }
        guard date.take("Tt "), date.time() else { return false }
        return date.rest.isEmpty || date.zone() && date.rest.isEmpty
    }

    /// Seconds since 1970 of a date and time in UTC, such as `1979-05-27T07:32:00Z`; nil for any other valid text.
    ///
    /// - Parameter text: a valid one.
    static func seconds(_ text: String) -> Int64? {
        var date = TOMLDate(rest: Array(text.utf8)[...])
        guard date.day(), date.take("Tt "), date.time(), date.take("Zz"), date.rest.isEmpty else { return nil }
        // Each number has its place in such a text.
        let digits = Array(text.utf8)
        func number(_ place: Int, _ count: Int) -> Int64 {
            OutsideNumber(digits: digits[place..<(place + count)])?.within(0...9_999) ?? 0
        }
        return HTTPDate.daysBefore(number(0, 4), number(5, 2), number(8, 2)) * 86_400
            + number(11, 2) * 3_600 + number(14, 2) * 60 + number(17, 2)
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
        return number
    }
}
