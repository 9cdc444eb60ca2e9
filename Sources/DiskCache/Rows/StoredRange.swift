/// The valid ranges of numbers in a file; any other number is damage. `SQLiteStatement` requires a range for each.
enum StoredRange {
    /// Numbers of rows. They count up from 1 and never get so high; so adding 1 cannot overflow.
    static let ids: ClosedRange<Int64> = 1...1 << 53
    /// Numbers of texts: of 18 bits.
    static let texts: ClosedRange<Int64> = 1...0x3_ffff
    /// Numbers of kinds: of 40 bits.
    static let kinds: ClosedRange<Int64> = 0...0xff_ffff_ffff
    /// Seconds since 1970 that a clock of Linux can show: it ends after 2^63 nanoseconds, in 2262.
    static let clock: ClosedRange<Int64> = 0...9_223_372_036
    /// Times of storing, in seconds since 1970: at most as long before the clock's beginning as the greatest age of an
    /// answer in memory, 2^31 s.
    static let times: ClosedRange<Int64> = -(1 << 31)...clock.upperBound
    /// TTLs in seconds: up to the maximum of `cache.max_ttl`.
    static let ttls: ClosedRange<Int64> = 1...7 * 86_400
    /// 16-bit numbers of a message: types, classes.
    static let words: ClosedRange<Int64> = 0...0xffff
    /// 32-bit numbers of SQLite's own header: counts of pages.
    static let pages: ClosedRange<Int64> = 0...0xffff_ffff
}
