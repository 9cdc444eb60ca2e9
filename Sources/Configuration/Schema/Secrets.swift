import HTTPDNS
import Platform

extension Kind where Value == Secret? {
    /// Never repeated in an error; empty means none.
    static var secret: Kind {
        .text(
            "secret", expected: "a string in quotes", isShown: false, isSecret: true,
            parse: { text throws(ValueProblem) in
                if let fault = Secret.fault(text) { throw ValueProblem(fault) }
                return text.isEmpty ? nil : Secret(text)
            },
            write: { _ in "\"\"" })
    }
}

extension Secret {
    /// The most bytes of a file that holds a secret.
    private static let longestFile = 4_096

    /// The text of a file, without the end of its line.
    ///
    /// - Throws: what is wrong with the file, without its path, which may come from the environment.
    init(file: String) throws(ValueProblem) {
        var bytes = try wholeFile(file, limit: Self.longestFile)
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard !bytes.isEmpty else { throw ValueProblem("is empty") }
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            throw ValueProblem("does not hold text")
        }
        if let fault = Self.fault(text) { throw ValueProblem(fault) }
        self.init(text)
    }

    /// Why a text can be no secret, as the end of a sentence that does not repeat it; nil: it can. No service has one of
    /// several lines or words: what is read is a wrong file, or has a line too much.
    static func fault(_ text: String) -> String? {
        if text.contains(where: \.isNewline) { return "has more than one line" }
        guard let foreign = text.unicodeScalars.first(where: \.isInvisible) else { return nil }
        return "holds the character \(foreign.number), which no secret has"
    }
}

extension TableKeys {
    /// Takes a secret from its file.
    ///
    /// - Parameters:
    ///   - secret: what its own key has; both are an error.
    ///   - key: that of the secret; the file's is the same with `_file`.
    func complete(_ secret: inout Secret?, from file: String, key: String = "secret") {
        guard !file.isEmpty else { return }
        guard secret == nil else {
            return fail("\(key)_file", "must not be written together with \(key): leave out one of them")
        }
        // Without the path: it may come from the environment.
        do throws(ValueProblem) {
            secret = try Secret(file: file)
            if let danger = PublicAccess(of: file)?.danger { warn("\(key)_file", "the file \(danger)") }
        } catch {
            reading.fail(self["\(key)_file"], "the file \(error.text)", isDenied: error.isDenied)
        }
    }
}

extension PublicAccess {
    /// What is wrong with a file that has secrets, as the end of a sentence; nil: nothing.
    var danger: String? {
        switch (reads, writes) {
        case (true, true):
            "can be read and changed by every user of this machine: take those rights away (chmod o= FILE)"
        case (true, false): "can be read by every user of this machine: take that right away (chmod o= FILE)"
        case (false, true):
            "can be changed by every user of this machine: take that right away (chmod o-w, of its folder too)"
        case (false, false): nil
        }
    }
}
