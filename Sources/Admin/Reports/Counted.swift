/// A number and what it counts, for people: `1 answer`, `2 answers`.
///
/// - Parameter several: the form for all numbers but 1 where it is not the other one with an s.
package func counted(_ count: Int, _ one: String, _ several: String? = nil) -> String {
    "\(count) \(count == 1 ? one : several ?? one + "s")"
}
