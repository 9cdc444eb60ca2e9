import TestSupport

/// What a stub resolver found for one name: a line `NAME ADDRESS... MILLISECONDS` or `NAME ERROR MILLISECONDS`.
package struct StubRow: Sendable {
    package let name: String
    /// Addresses in their canonical text, or one error.
    package let found: Set<String>
    package let time: Duration

    init(_ line: String) throws {
        let words = line.split(separator: " ").map(String.init)
        guard words.count >= 3, let milliseconds = Int(words[words.count - 1]) else {
            throw TestFailure("not a row of a look-up: \(line)")
        }
        name = words[0]
        found = Set(words.dropFirst().dropLast().map { (try? TestAddress.bytes($0)).flatMap(TestAddress.text) ?? $0 })
        time = .milliseconds(milliseconds)
    }
}
