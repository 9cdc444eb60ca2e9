/// A key or token that no log, error text or debugger dump shows.
package struct Secret: Hashable, Sendable {
    /// The text itself; for signatures and headers only.
    package let value: String

    package init(_ value: String) { self.value = value }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(secret)" }
    package var debugDescription: String { description }
    /// Without children, so that `dump` and mirrors of what holds a secret find nothing.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
