import Glibc
import HTTPDNS
import Platform

/// A string of the file after its variables were put in.
struct WrittenText {
    /// With the variables' values.
    let value: String
    /// For messages: the text as the file has it, so that nothing from the environment is ever shown.
    let written: String
}

extension WrittenText {
    /// Whether the text is one variable and nothing else.
    static func isVariable(_ written: String) -> Bool {
        written.hasPrefix("${") && written.firstIndex(of: "}") == written.indices.last
    }

    /// Replaces `${VARIABLE}` and `${VARIABLE:-default}` (the default also when the variable is empty); `$${` stands
    /// for `${`, and a `$` before anything else for itself.
    init(_ written: String, environment: [String: String]) throws(ValueProblem) {
        var value = ""
        for piece in try Self.pieces(of: written) {
            switch piece {
            case .text(let text): value += text
            case .variable(let name, let fallback):
                let found = environment[name]
                if let fallback {
                    value += found.flatMap { $0.isEmpty ? nil : $0 } ?? fallback
                } else if let found {
                    value += found
                } else {
                    throw ValueProblem(
                        "needs the environment variable \(name), which is not set; set it (for the service in \(Variables.packagedFile), then `systemctl restart httpdnsd`), or write ${\(name):-default}",
                        isOfTheStart: true)
                }
            }
        }
        self.value = value
        self.written = written
    }

    /// The names of the variables in a text; none in one that cannot be read.
    static func variables(in written: String) -> [String] {
        let pieces = (try? Self.pieces(of: written)) ?? []
        return pieces.compactMap { if case .variable(let name, _) = $0 { name } else { nil } }
    }

    private enum Piece {
        case text(String)
        case variable(String, fallback: String?)
    }

    private static func pieces(of written: String) throws(ValueProblem) -> [Piece] {
        var pieces: [Piece] = []
        var rest = Substring(written)
        while let dollar = rest.firstIndex(of: "$") {
            pieces.append(.text(String(rest[..<dollar])))
            rest = rest[dollar...]
            if rest.hasPrefix("$${") {
                pieces.append(.text("${"))
                rest = rest.dropFirst(3)
            } else if rest.hasPrefix("${") {
                guard let close = rest.firstIndex(of: "}") else {
                    throw ValueProblem("has a ${ without its }; write $${ for the characters themselves")
                }
                pieces.append(try variable(rest[..<close].dropFirst(2)))
                rest = rest[close...].dropFirst()
            } else {
                pieces.append(.text("$"))
                rest = rest.dropFirst()
            }
        }
        return pieces + [.text(String(rest))]
    }

    private static func variable(_ text: Substring) throws(ValueProblem) -> Piece {
        let mark = text.firstRange(of: ":-")
        let name = text[..<(mark?.lowerBound ?? text.endIndex)]
        guard let first = name.utf8.first, !(0x30...0x39).contains(first), isVariableName(name) else {
            throw ValueProblem(
                "has something else than a variable's name in ${ }; write $${ for the characters themselves")
        }
        return .variable(String(name), fallback: mark.map { String(text[$0.upperBound...]) })
    }

    /// Whether all characters may be in a variable's name.
    static func isVariableName(_ text: some StringProtocol) -> Bool {
        text.utf8.allSatisfy { $0.isWordByte && $0 != UInt8(ascii: "-") }
    }
}

/// The bytes of a whole text file.
///
/// - Parameters:
///   - limit: bytes; a longer file is refused.
///   - replacement: what stands for a file that is not there; nil: that is an error.
func wholeFile(_ path: String, limit: Int, ifMissing replacement: [UInt8]? = nil) throws(ValueProblem) -> [UInt8] {
    let content: [UInt8]
    do throws(SystemError) {
        content = try readText(path, limit: limit + 1)
    } catch {
        if error.code == ENOENT, let replacement { return replacement }
        guard error.code != ESPIPE else {
            throw ValueProblem("is a pipe, which cannot be read again at a reload: a file is needed")
        }
        let isDenied = error.code == EACCES
        throw ValueProblem(
            "cannot be read: \(error.reason)\(isDenied ? rights(of: path) : "")", isDenied: isDenied)
    }
    if let problem = ValueProblem(of: content, limit: limit) { throw problem }
    return content
}

/// The rights on a file that this process may not read: ` (mode 0600, of user 0, and this is user 65534)`; empty where a folder
/// above denies that too.
private func rights(of path: String) -> String {
    var state = stat()
    guard unsafe stat(path, &state) == 0 else { return " (a folder above it is closed to user \(geteuid()))" }
    let mode = String(state.st_mode & 0o7777, radix: 8)
    return " (mode 0\(mode), of user \(state.st_uid), and this is user \(geteuid()))"
}

/// Whether this process may list the directory `path`.
func isReadableDirectory(_ path: String) -> Bool {
    guard let directory = unsafe opendir(path) else { return false }
    unsafe closedir(directory)
    return true
}

/// The lines on which the entries of each list stand. They are no part of a configuration: any two are equal.
struct ListLines: Sendable, Equatable {
    private var lines: [SettingPath: [UInt32]] = [:]

    /// Notes the lines of a list's entries.
    mutating func note(_ lines: [Int], of list: SettingPath) { self.lines[list] = lines.map { UInt32(clamping: $0) } }

    /// The line of an entry.
    ///
    /// - Parameter number: counted from 0.
    subscript(list: SettingPath, number: Int) -> Int? {
        guard let lines = lines[list], lines.indices.contains(number) else { return nil }
        return Int(lines[number])
    }

    static func == (left: ListLines, right: ListLines) -> Bool { true }
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
        guard let foreign = text.unicodeScalars.first(where: HostName.isInvisible) else { return nil }
        return "holds the character \(HostName.number(of: foreign)), which no secret has"
    }
}

extension TableKeys {
    /// Takes a secret from its file.
    ///
    /// - Parameters:
    ///   - secret: what its own key has; both are an error.
    ///   - file: empty: none is written.
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
