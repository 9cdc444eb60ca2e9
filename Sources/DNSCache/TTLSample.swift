/// The TTLs of some entries.
package struct TTLSample: Equatable, Sendable {
    /// Entries within their TTL, and those past it.
    package private(set) var fresh = 0
    package private(set) var stale = 0
    /// The seconds that all fresh ones have left.
    package private(set) var seconds = 0

    mutating func add(left: UInt32) {
        guard left > 0 else { return stale += 1 }
        fresh += 1
        seconds += Int(left)
    }
}
