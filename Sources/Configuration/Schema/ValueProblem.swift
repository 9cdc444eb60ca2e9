/// What is wrong with one value, as the end of a sentence that begins with the value: `has no unit; write ...`.
package struct ValueProblem: Error, Hashable, Sendable {
    package var text: String

    init(_ text: String) { self.text = text }
}
