/// Parses HTTP's date format: `Tue, 14 Nov 2023 22:13:20 GMT` (RFC 9110 section 5.6.7).
package enum HTTPDate {
    private static let length = 29

    /// Seconds since 1970; nil for any other format. The day of the week is ignored.
    package static func seconds(_ text: Span<UInt8>) -> Int64? {
        guard text.count == length else { return nil }
        guard text[3] == UInt8(ascii: ","), text[19] == UInt8(ascii: ":"), text[22] == UInt8(ascii: ":"),
            text[26] == UInt8(ascii: "G"), text[27] == UInt8(ascii: "M"), text[28] == UInt8(ascii: "T"),
            let month = month(text[8], text[9], text[10]),
            let day = number(text, 5, digits: 2), (1...31).contains(day), let year = number(text, 12, digits: 4),
            let hour = number(text, 17, digits: 2), hour < 24, let minute = number(text, 20, digits: 2), minute < 60,
            let second = number(text, 23, digits: 2), second <= 60
        else { return nil }
        return daysBefore(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second
    }

    private static func number(_ text: Span<UInt8>, _ offset: Int, digits: Int) -> Int64? {
        var value: Int64 = 0
        for place in offset..<(offset + digits) {
            guard (48...57).contains(text[place]) else { return nil }
            value = value * 10 + Int64(text[place] - 48)
        }
        return value
    }

    private static func month(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> Int64? {
        switch UInt32(first) << 16 | UInt32(second) << 8 | UInt32(third) {
        case 0x4a_616e: 1
        case 0x46_6562: 2
        case 0x4d_6172: 3
        case 0x41_7072: 4
        case 0x4d_6179: 5
        case 0x4a_756e: 6
        case 0x4a_756c: 7
        case 0x41_7567: 8
        case 0x53_6570: 9
        case 0x4f_6374: 10
        case 0x4e_6f76: 11
        case 0x44_6563: 12
        default: nil
        }
    }

    /// Days from 1970-01-01 to a date of the Gregorian calendar, computed with years that begin in March.
    package static func daysBefore(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let years = month > 2 ? year : year - 1
        let days = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return years * 365 + years / 4 - years / 100 + years / 400 + days - 719_468
    }
}
