import Scheduling

/// Counts the queries that began to wait a short time ago and still do.
///
/// Counted are two spans of time, the present one and the one before it: exact would be a list of all, which the count is
/// not worth.
struct RecentCount {
    /// The length of a span: a query counts for at least this long, and for less than twice that.
    let span: Duration
    private var began = Instant(nanoseconds: 0)
    /// The number of the present span, which the queries of it carry.
    private var current = 0
    private var inCurrent = 0
    private var inEarlier = 0

    init(span: Duration) {
        self.span = span
    }

    /// How many began in the present span or the one before it, as of the last `advance`.
    var count: Int { inCurrent + inEarlier }

    /// Begins another span if the present one is over.
    mutating func advance(to now: Instant) {
        guard now - began >= span else { return }
        (inEarlier, inCurrent) = (now - began < span * 2 ? inCurrent : 0, 0)
        current += now - began < span * 2 ? 1 : 2
        began = now
    }

    /// Adds one that begins; returns the number with which it is removed.
    mutating func add() -> Int {
        inCurrent += 1
        return current
    }

    /// Removes one that ends.
    mutating func remove(_ number: Int) {
        if number == current { inCurrent -= 1 } else if number == current - 1 { inEarlier -= 1 }
    }
}
