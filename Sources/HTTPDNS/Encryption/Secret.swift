/// A key or token, hidden in logs, error texts and debugger dumps.
package struct Secret: Hashable, Sendable {
    /// The text itself; used only for signatures and headers.
    package let value: String

    package init(_ value: String) { self.value = value }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(secret)" }
    package var debugDescription: String { description }
    /// Without children, so that `dump` and mirrors of values that contain a secret show nothing.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
