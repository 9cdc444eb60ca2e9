/// A number that something outside of this process chose: in text, JSON, a file, or a value of Redis.
///
/// It has no arithmetic that can trap, and leaves only with a range. What does not fit 64 bits is the nearest limit.
@frozen
public struct OutsideNumber: Comparable, ExpressibleByIntegerLiteral, Sendable {
    @usableFromInline let value: Int64

    @inlinable
    public init(_ value: some BinaryInteger) { self.value = Int64(clamping: value) }

    @inlinable
    public init(integerLiteral value: Int64) { self.value = value }

    /// Reads one or more ASCII digits; nil for anything else, such as a sign.
    @inlinable
    public init?(digits: some Collection<UInt8>) {
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        for byte in digits {
            guard 0x30...0x39 ~= byte else { return nil }
            let (tens, isOver) = value.multipliedReportingOverflow(by: 10)
            let (sum, isFar) = tens.addingReportingOverflow(Int64(byte & 0xf))
            value = isOver || isFar ? .max : sum
        }
        self.value = value
    }

    /// Reads one or more ASCII digits; nil for anything else, such as a sign.
    @inlinable
    public init?(digits: some StringProtocol) { self.init(digits: digits.utf8) }

    /// The number; nil outside of the range.
    @inlinable
    public func within<Number: FixedWidthInteger>(_ range: ClosedRange<Number>) -> Number? {
        Number(exactly: value).flatMap { range.contains($0) ? $0 : nil }
    }

    /// The number, or the limit of the range that is nearest to it.
    @inlinable
    public func clamped<Number: FixedWidthInteger>(to range: ClosedRange<Number>) -> Number {
        min(max(Number(clamping: value), range.lowerBound), range.upperBound)
    }

    @inlinable
    public static func < (left: OutsideNumber, right: OutsideNumber) -> Bool { left.value < right.value }

    /// The sum, saturated to 64 bits.
    public static func + (left: OutsideNumber, right: Int64) -> OutsideNumber {
        let (sum, isOver) = left.value.addingReportingOverflow(right)
        return OutsideNumber(isOver ? (right > 0 ? .max : .min) : sum)
    }

    /// The difference, saturated to 64 bits.
    public static func - (left: OutsideNumber, right: Int64) -> OutsideNumber {
        let (difference, isOver) = left.value.subtractingReportingOverflow(right)
        return OutsideNumber(isOver ? (right < 0 ? .max : .min) : difference)
    }
}
