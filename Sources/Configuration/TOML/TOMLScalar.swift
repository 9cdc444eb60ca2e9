/// The grammar of values without quotes and brackets (TOML 1.0: boolean, integer, float, date and time).
enum TOMLScalar {
    /// Whether the text has the form of one; ranges of numbers and dates are left to toml++.
    static func isValid(_ text: ArraySlice<UInt8>) -> Bool {
        if ["true", "false"].contains(where: { text.elementsEqual($0.utf8) }) { return true }
        return isNumber(text) || isDateOrTime(text)
    }

    private static func isNumber(_ text: ArraySlice<UInt8>) -> Bool {
        let hasSign = text.first == UInt8(ascii: "+") || text.first == UInt8(ascii: "-")
        let number = text.dropFirst(hasSign ? 1 : 0)
        if ["inf", "nan"].contains(where: { number.elementsEqual($0.utf8) }) { return true }
        if !hasSign, number.first == UInt8(ascii: "0"), let base = number.dropFirst().first {
            let digits = number.dropFirst(2)
            switch base {
            case UInt8(ascii: "x"): return isDigits(digits) { isDigit($0) || "abcdefABCDEF".utf8.contains($0) }
            case UInt8(ascii: "o"): return isDigits(digits) { "01234567".utf8.contains($0) }
            case UInt8(ascii: "b"): return isDigits(digits) { "01".utf8.contains($0) }
            default: break
            }
        }
        let mantissa = number.prefix { $0 != UInt8(ascii: "e") && $0 != UInt8(ascii: "E") }
        let whole = mantissa.prefix { $0 != UInt8(ascii: ".") }
        guard isDigits(whole, isDigit), whole.count == 1 || whole.first != UInt8(ascii: "0") else { return false }
        if whole.count < mantissa.count, !isDigits(mantissa.dropFirst(whole.count + 1), isDigit) { return false }
        if mantissa.count == number.count { return true }
        let exponent = number.dropFirst(mantissa.count + 1)
        let isSigned = exponent.first == UInt8(ascii: "+") || exponent.first == UInt8(ascii: "-")
        return isDigits(exponent.dropFirst(isSigned ? 1 : 0), isDigit)
    }

    /// `1979-05-27`, `07:32:00.5`, or both with `T` or a blank between them and perhaps `Z` or `-07:00` at the end.
    private static func isDateOrTime(_ text: ArraySlice<UInt8>) -> Bool {
        guard let rest = text.after("dddd-dd-dd") else { return isTime(text) { $0.isEmpty } }
        guard let separator = rest.first else { return true }
        guard "Tt ".utf8.contains(separator) else { return false }
        return isTime(rest.dropFirst()) { zone in
            zone.isEmpty || zone.elementsEqual("Z".utf8) || zone.elementsEqual("z".utf8)
                || zone.after("+dd:dd")?.isEmpty == true || zone.after("-dd:dd")?.isEmpty == true
        }
    }

    private static func isTime(_ text: ArraySlice<UInt8>, then isEnd: (ArraySlice<UInt8>) -> Bool) -> Bool {
        guard let rest = text.after("dd:dd:dd") else { return false }
        guard rest.first == UInt8(ascii: ".") else { return isEnd(rest) }
        let fraction = rest.dropFirst().prefix(while: isDigit)
        return !fraction.isEmpty && isEnd(rest.dropFirst(1 + fraction.count))
    }

    /// One or more digits, with single underscores between them.
    private static func isDigits(_ text: ArraySlice<UInt8>, _ isWanted: (UInt8) -> Bool) -> Bool {
        text.split(separator: UInt8(ascii: "_"), omittingEmptySubsequences: false)
            .allSatisfy { !$0.isEmpty && $0.allSatisfy(isWanted) }
    }

    fileprivate static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

extension ArraySlice<UInt8> {
    /// What follows a beginning of this form, in which `d` stands for a digit; nil when it begins otherwise.
    fileprivate func after(_ form: String) -> ArraySlice<UInt8>? {
        let start = prefix(form.utf8.count)
        let fits = zip(start, form.utf8).allSatisfy { $1 == UInt8(ascii: "d") ? TOMLScalar.isDigit($0) : $0 == $1 }
        return fits && start.count == form.utf8.count ? dropFirst(form.utf8.count) : nil
    }
}
