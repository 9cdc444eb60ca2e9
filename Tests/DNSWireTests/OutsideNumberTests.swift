import DNSWire
import Testing

/// Numbers from outside, and the only ways to use them.
struct OutsideNumberTests {
    private static let long = String(repeating: "9", count: 30)

    @Test(
        arguments: [
            ("0", 0), ("007", 7), ("2147483648", 1 << 31), ("9223372036854775806", .max - 1),
            ("9223372036854775807", .max), ("9223372036854775808", .max), ("9223372036854775810", .max), (long, .max),
        ] as [(String, Int64)])
    func `digits of any number are read, beyond 64 bits as the limit`(text: String, number: Int64) {
        #expect(OutsideNumber(digits: text) == OutsideNumber(number))
        #expect(OutsideNumber(digits: Array(text.utf8)) == OutsideNumber(number))
    }

    @Test(arguments: ["", "-1", "+1", " 1", "1 ", "1.0", "0x1", "1_000", "٣", "1\u{0}", long + "a"])
    func `what is not digits alone is no number`(text: String) {
        #expect(OutsideNumber(digits: text) == nil)
        #expect(OutsideNumber(digits: text.utf8) == nil)
    }

    @Test(
        arguments: [
            (-1, nil), (0, 0), (65_535, 65_535), (65_536, nil), (.max, nil), (.min, nil),
        ] as [(Int64, UInt16?)])
    func `a number is given out within its range, of any width`(number: Int64, expected: UInt16?) {
        #expect(OutsideNumber(number).within(0...UInt16.max) == expected)
        #expect(OutsideNumber(number).within(0...65_535) == expected.map(Int.init))
    }

    @Test(
        arguments: [
            (-1, 1), (0, 1), (1, 1), (600, 600), (601, 600), (.max, 600), (.min, 1),
        ] as [(Int64, UInt16)])
    func `a number outside of a range is clamped to it`(number: Int64, expected: UInt16) {
        #expect(OutsideNumber(number).clamped(to: 1...600 as ClosedRange<UInt16>) == expected)
        #expect(OutsideNumber(number).clamped(to: 1...600) == Int(expected))
    }

    @Test func `a number of 64 bits without a sign is clamped to those with one`() {
        #expect(OutsideNumber(UInt64.max) == OutsideNumber(Int64.max))
        #expect(OutsideNumber(UInt64.max).within(0...1 << 48) == nil)
    }

    @Test(arguments: [Int64.min, .min + 1, -1, 0, 1, .max - 1, .max])
    func `sums and differences stop at the limits`(number: Int64) {
        let outside = OutsideNumber(number)
        #expect(outside + 1 == OutsideNumber(number == .max ? .max : number + 1))
        #expect(outside - 1 == OutsideNumber(number == .min ? .min : number - 1))
        #expect(outside + Int64.max == (number > 0 ? OutsideNumber(Int64.max) : OutsideNumber(number + .max)))
        #expect(outside - Int64.min == (number < 0 ? OutsideNumber(number - .min) : OutsideNumber(Int64.max)))
    }

    @Test func `numbers are compared`() {
        #expect(OutsideNumber(Int64.min) < -1 && OutsideNumber(Int64.max) > 1 && OutsideNumber(0) == 0)
    }
}
