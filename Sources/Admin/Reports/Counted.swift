/// A count with its noun, for people: `1 answer`, `2 answers`.
///
/// - Parameter several: the plural, where it is not the singular with an s.
package func counted(_ count: Int, _ one: String, _ several: String? = nil) -> String {
    "\(count) \(count == 1 ? one : several ?? one + "s")"
}
