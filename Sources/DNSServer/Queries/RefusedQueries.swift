/// How many queries were refused since the start, by the reason.
package struct RefusedQueries: Equatable, Sendable {
    /// Their clients are not on the access list: REFUSED.
    package var access: Int
    /// More came than the loop could take: SERVFAIL, or no response at all.
    package var overload: Int
    package var dropped: Int
    /// Too many waited for an answer: SERVFAIL.
    package var queue: Int
}
