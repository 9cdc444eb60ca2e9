/// The numbers that a file may hold; any other one is damage. `SQLiteStatement` gives out none without a range.
enum StoredRange {
    /// Numbers of rows and of texts. They are given by counting up from 1, which never gets so far; so 1 can always be added.
    static let ids: ClosedRange<Int64> = 1...1 << 53
    /// Seconds since 1970 that a clock of Linux can show: it ends after 2^63 nanoseconds, in 2262.
    static let clock: ClosedRange<Int64> = 0...9_223_372_036
    /// When something was stored, in seconds since 1970: at most as long before the clock's beginning as an answer grows old
    /// in memory, 2^31 s.
    static let times: ClosedRange<Int64> = -(1 << 31)...clock.upperBound
    /// TTLs in seconds: what `cache.max_ttl` can be at most.
    static let ttls: ClosedRange<Int64> = 1...7 * 86_400
    /// What has 16 bits in a message: types, classes.
    static let words: ClosedRange<Int64> = 0...0xffff
    /// What has 32 bits in SQLite's own header: counts of pages.
    static let pages: ClosedRange<Int64> = 0...0xffff_ffff
}
