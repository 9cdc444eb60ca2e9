/// Why a text is not TOML. Never holds a value of the text, which may be a secret.
struct SyntaxProblem: Error, Hashable {
    /// Counted from 1.
    var line: Int
    /// Counted from 1.
    var column: Int
    var message: String
}
