import Glibc
import Platform

/// The state of reading one file: what was found wrong, and what the values need from outside.
final class Reading {
    let file: String
    let document: TOMLNode
    let environment: [String: String]

    private var errors: [Diagnostic] = []
    private(set) var warnings: [Diagnostic] = []
    /// Those about other files that this one names.
    var furtherWarnings: [Diagnostic] = []
    /// Keys whose secret the file holds itself.
    private(set) var secrets: [SettingPath] = []
    /// Keys that the file holds.
    var written: Set<SettingPath> = []
    /// Keys that an unknown key was probably meant to be.
    private var misspelt: Set<SettingPath> = []
    /// Keys whose value was refused.
    private var refused: Set<SettingPath> = []
    /// Entries of arrays of tables in which every value was left out: they count as not written.
    var leftOutEntries: [SettingPath] = []

    /// The lines of the entries of each list.
    var lines = ListLines()

    init(file: String, document: TOMLNode, environment: [String: String]) {
        self.file = file
        self.document = document
        self.environment = environment
    }

    /// - Throws: all errors together, if there are any.
    func check() throws(ConfigurationError) {
        if !errors.isEmpty { throw ConfigurationError(diagnostics: Diagnostic.sorted(errors)) }
    }

    /// Notes that a value is a secret, if the file holds it and no variable does.
    func noteSecret(_ path: SettingPath, _ text: WrittenText) {
        if !text.value.isEmpty, WrittenText.variables(in: text.written).isEmpty { secrets.append(path) }
    }

    func fail(_ path: SettingPath, _ message: String, isOfTheStart: Bool = false, isDenied: Bool = false) {
        refused.insert(path)
        var error = diagnostic(path, message)
        (error.isOfTheStart, error.isDenied) = (isOfTheStart, isDenied)
        errors.append(error)
    }

    func warn(_ path: SettingPath, _ message: String) { warnings.append(diagnostic(path, message)) }

    /// Whether nothing was refused at `path` or inside it.
    func isSound(_ path: SettingPath) -> Bool { !refused.contains { $0.isWithin(path) } }

    /// Whether an unknown key was probably meant to be this one: then it is not reported as missing too.
    func isMisspelt(_ path: SettingPath) -> Bool { misspelt.contains(path) }

    /// The text of a key as the file has it, with its variables; nil where there is none.
    func writtenText(of path: SettingPath) -> String? {
        guard case .string(let text)? = document.nearest(to: path)?.value else { return nil }
        return text
    }

    /// The line of `path`, or of the nearest table or list around it that has one; counted from 1.
    func line(of path: SettingPath) -> Int? {
        // A variable among the entries may stand for any number of them, and one of the environment alone for all.
        if case .entry(let number)? = path.parts.last, let line = path.parent.flatMap({ lines[$0, number - 1] }),
            line > 0
        {
            return line
        }
        // What a variable has set stands in no line.
        return document.nearest(to: path).flatMap { $0.line > 0 ? $0.line : nil }
    }

    private func diagnostic(_ path: SettingPath, _ message: String) -> Diagnostic {
        Diagnostic(file: file, line: line(of: path), key: path == .root ? nil : path.description, message: message)
    }

    /// Whether a value is a variable alone that is empty, or a list of nothing but such: then its key counts as not
    /// written.
    func isLeftOut(_ node: TOMLNode) -> Bool {
        switch node.value {
        case .string(let text): WrittenText.isVariable(text) && loneVariable(text)?.isEmpty == true
        case .array(let nodes): !nodes.isEmpty && nodes.allSatisfy(isLeftOut)
        default: false
        }
    }

    /// The entries of a list, with those of its variables: one that stands alone has any number of values, separated by
    /// commas.
    func entries(_ nodes: [TOMLNode]) -> [TOMLNode] {
        nodes.flatMap { node in
            guard case .string(let text) = node.value, WrittenText.isVariable(text), let value = loneVariable(text)
            else {
                return [node]
            }
            return value.split(separator: ",").map { $0.trimming(" ") }.filter { !$0.isEmpty }
                .map { TOMLNode(value: .variable($0, of: text), line: node.line) }
        }
    }

    /// The value of a variable; nil for one that cannot be read, which is reported where it is used.
    private func loneVariable(_ text: String) -> String? {
        try? WrittenText(text, environment: environment).value
    }

    /// A value that stands in the file without quotes, or that a variable alone holds.
    ///
    /// - Returns: the value, and for messages the text of the variable, whose value is never shown; nil for one of the
    ///   file itself.
    func scalar(_ node: TOMLNode) -> (value: TOMLNode.Value, shown: String?) {
        let (text, value): (String, String)
        switch node.value {
        case .variable(let one, let written): (text, value) = (written, one)
        case .string(let written):
            guard WrittenText.isVariable(written), let whole = loneVariable(written) else { return (node.value, nil) }
            (text, value) = (written, whole)
        default: return (node.value, nil)
        }
        return ((try? TOMLNode.Value.scalar(Array(value.utf8)[...])) ?? node.value, quoted(text))
    }

    /// Reports a key that its table does not know.
    func failUnknown(_ path: SettingPath, _ key: String, known: [String]) {
        if let near = nearest(to: key, among: known) {
            if let table = path.parent { misspelt.insert(table.appending(key: near)) }
            fail(path, "unknown key; did you mean \(quoted(near))?")
        } else {
            fail(path, "unknown key; known here: \(known.joined(separator: ", "))")
        }
    }

    /// The text of a string node with its variables put in; reports anything else.
    func text(_ node: TOMLNode, _ path: SettingPath, expected: String) -> WrittenText? {
        if case .variable(let value, let written) = node.value { return WrittenText(value: value, written: written) }
        guard case .string(let written) = node.value else {
            fail(path, "must be \(expected), not \(node.kindName)")
            return nil
        }
        guard !written.utf8.contains(0) else {
            fail(path, "cannot hold the NUL character")
            return nil
        }
        do throws(ValueProblem) {
            return try WrittenText(written, environment: environment)
        } catch {
            fail(path, error.text, isOfTheStart: error.isOfTheStart)
            return nil
        }
    }
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

extension Substring {
    /// Without this character at both ends.
    fileprivate func trimming(_ character: Character) -> String {
        var rest = self
        while rest.first == character { rest.removeFirst() }
        while rest.last == character { rest.removeLast() }
        return String(rest)
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

extension ValueProblem {
    /// Of a file with more bytes than `limit`; nil for any other.
    init?(of file: [UInt8], limit: Int) {
        guard file.count > limit else { return nil }
        self.init("is larger than \(Quantity.size.write(limit))")
    }
}
