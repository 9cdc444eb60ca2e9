import HTTPDNS

extension Secret {
    /// The most bytes of a file that holds a secret.
    private static let longestFile = 4_096

    /// The text of a file, without the end of its line.
    ///
    /// - Throws: what is wrong with the file, without its path, which may come from the environment.
    init(file: String) throws(FileProblem) {
        var bytes = try wholeFile(file, limit: Self.longestFile)
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard !bytes.isEmpty else { throw FileProblem(text: "is empty") }
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            throw FileProblem(text: "does not hold text")
        }
        self.init(text)
    }
}
