/// A value that must never be shown: logs, errors, dumps and string interpolation print `(secret)`.
package struct Secret: Hashable, Sendable {
    private let value: String

    package init(_ value: String) { self.value = value }

    /// The value itself, for signing and encrypting only.
    package func reveal() -> String { value }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(secret)" }
    package var debugDescription: String { "(secret)" }
    /// Without children, so that `dump` and mirrors of what holds a secret find nothing.
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
