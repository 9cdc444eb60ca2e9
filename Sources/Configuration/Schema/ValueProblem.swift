/// What is wrong with one value, as the end of a sentence that begins with the value: `has no unit; write ...`.
package struct ValueProblem: Error, Hashable, Sendable {
    package var text: String
    /// As of a `Diagnostic`.
    var isOfTheStart = false

    init(_ text: String, isOfTheStart: Bool = false) {
        self.text = text
        self.isOfTheStart = isOfTheStart
    }
}
