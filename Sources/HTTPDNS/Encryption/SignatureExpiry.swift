/// The times of signatures.
enum SignatureExpiry {
    /// What ten digits hold, in seconds since 1970.
    static let times: ClosedRange<Int64> = 0...9_999_999_999
    /// In seconds; the service accepts up to 86,400, and its own SDKs use 600.
    private static let usualLifetime: Int64 = 600

    /// Seconds since 1970: ten digits, whatever the clock.
    static func text(at time: Int64, lifetime: Int64 = usualLifetime) -> String {
        String(min(max(time, 1_000_000_000), 9_999_999_999 - lifetime) + lifetime)
    }
}
