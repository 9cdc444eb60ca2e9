import Glibc
import Platform

/// A string of the file after its variables were put in.
struct WrittenText {
    /// With the variables' values.
    let value: String
    /// For messages: the text as the file has it, so that nothing from the environment is ever shown.
    let written: String

    init(value: String, written: String) {
        self.value = value
        self.written = written
    }

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
        text.utf8.allSatisfy { isBareKeyByte($0) && $0 != UInt8(ascii: "-") }
    }
}

/// Why a file could not be read, as the end of a sentence: `cannot be read: No such file or directory`.
package struct FileProblem: Error {
    package let text: String
    /// Whether this process has no right to read it.
    var isDenied = false
}

/// The bytes of a whole text file.
///
/// - Parameters:
///   - limit: bytes; a longer file is refused.
///   - replacement: what stands for a file that is not there; nil: that is an error.
func wholeFile(
    _ path: String, limit: Int, ifMissing replacement: [UInt8]? = nil
) throws(FileProblem) -> [UInt8] {
    let content: [UInt8]
    do throws(SystemError) {
        content = try readText(path, limit: limit + 1)
    } catch {
        if error.code == ENOENT, let replacement { return replacement }
        let isDenied = error.code == EACCES
        throw FileProblem(
            text: "cannot be read: \(error.reason)\(isDenied ? rights(of: path) : "")", isDenied: isDenied)
    }
    guard content.count <= limit else { throw FileProblem(text: "is larger than \(SizeText.write(limit))") }
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

/// The lines on which the entries of a list stand: most lists have one entry on each line, or all on one, and then take a
/// few bytes whatever their length.
struct LineRuns: Sendable {
    /// Entries that follow each other on lines in equal steps.
    private struct Run {
        /// The number of its first entry, counted from 0, and the line of it.
        var first: UInt32
        var line: UInt32
        /// Lines from one entry to the next: 0 or 1.
        var step: UInt32
    }

    private var runs: [Run] = []
    private var count: UInt32 = 0

    init(_ lines: some Sequence<Int>) {
        for line in lines { append(UInt32(clamping: line)) }
    }

    private mutating func append(_ line: UInt32) {
        defer { count &+= 1 }
        guard let last = runs.last else { return runs.append(Run(first: count, line: line, step: 0)) }
        if count &- last.first == 1, line &- last.line <= 1 {
            runs[runs.count - 1].step = line &- last.line
        } else if line != last.line &+ (count &- last.first) &* last.step {
            runs.append(Run(first: count, line: line, step: 0))
        }
    }

    /// How many runs there are. For tests.
    var runCount: Int { runs.count }

    /// The line of an entry.
    ///
    /// - Parameter number: counted from 0.
    subscript(number: Int) -> Int? {
        guard let number = UInt32(exactly: number), number < count else { return nil }
        // Messages may be as many as entries, and so may runs.
        var (low, high) = (0, runs.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if runs[middle].first <= number { low = middle } else { high = middle }
        }
        let run = runs[low]
        return Int(run.line &+ (number &- run.first) &* run.step)
    }
}

/// The lines of the entries of each list. They are no part of a configuration: any two are equal.
struct ListLines: Sendable, Equatable {
    private let runs: [SettingPath: LineRuns]

    init(_ runs: [SettingPath: LineRuns] = [:]) { self.runs = runs }

    subscript(path: SettingPath) -> LineRuns? { runs[path] }

    static func == (left: ListLines, right: ListLines) -> Bool { true }
}
