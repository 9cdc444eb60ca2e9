import HTTPDNS
import Platform

/// Where `${VARIABLE}` in a configuration has its value from: the environment of the process, and a file.
public struct Variables: Sendable {
    /// What the packaged unit of systemd reads at the start (`EnvironmentFile=`).
    public static let packagedFile = "/etc/httpdnsd/environment"
    /// Where systemd puts the credentials of that unit (`LoadCredential=`).
    public static let packagedCredentials = "/run/credentials/httpdnsd.service"
    private static let credentials = "CREDENTIALS_DIRECTORY"

    /// The environment of the process at its start.
    public let process: [String: String]
    /// A file (`EnvironmentFile`) whose variables go before those of the process; nil: none.
    public let file: String?

    public init(process: [String: String], file: String? = nil) {
        self.process = process
        self.file = file
    }

    /// All variables. The file is read again each time: the environment of a process never changes.
    ///
    /// - Throws: that the file cannot be read.
    func read() throws(ConfigurationError) -> [String: String] {
        guard let file else { return process }
        do throws(ValueProblem) {
            return process.merging(try EnvironmentFile.variables(at: file)) { $1 }
        } catch {
            throw ConfigurationError(file, error)
        }
    }

    /// Whether all characters may be in a variable's name.
    static func isName(_ text: some StringProtocol) -> Bool {
        text.utf8.allSatisfy { $0.isWordByte && $0 != UInt8(ascii: "-") }
    }

    /// Where systemd puts the copy of a file that it has read for this process (`LoadCredential=` with the file's name).
    func credential(for path: String) -> String? {
        guard let folder = process[Self.credentials], let name = path.split(separator: "/").last else { return nil }
        return "\(folder)/\(name)"
    }

    /// The same with what the packaged service has and this process has not, if it may read that: for a command at a
    /// terminal, which shall see the configuration as the service does.
    ///
    /// - Returns: also the files and directories of which something was taken.
    public func asOfService(
        file: String = Variables.packagedFile, credentials: String = Variables.packagedCredentials
    ) -> (variables: Variables, taken: [String]) {
        guard self.file == nil else { return (self, []) }
        var (merged, taken) = (process, [String]())
        let found = (try? EnvironmentFile.variables(at: file))?.filter { process[$0.key] == nil } ?? [:]
        if !found.isEmpty {
            merged.merge(found) { $1 }
            taken.append(file)
        }
        if merged[Self.credentials] == nil, RootFolder("").entries(of: credentials) != nil {
            merged[Self.credentials] = credentials
            taken.append(credentials)
        }
        return (Variables(process: merged), taken)
    }
}

/// A file of variables, `VARIABLE=value` in each line, as systemd reads it for `EnvironmentFile=`.
///
/// A value may be quoted: within `'` everything stands for itself, within `"` a backslash makes `"`, `\`, `` ` `` and `$`
/// plain, and a backslash at the end of a line joins it with the next. Lines that begin with `#` or `;` are comments, and
/// what is no assignment is ignored, as systemd does. A value is not searched for variables.
public struct EnvironmentFile {
    /// The most bytes of a file: 1 MiB.
    private static let maximumSize = 1 << 20
    private static let newline = UInt8(ascii: "\n")
    private static let backslash = UInt8(ascii: "\\")

    private var rest: ArraySlice<UInt8>

    /// Those of a file, by name. Throws why it cannot be read.
    static func variables(at path: String) throws(ValueProblem) -> [String: String] {
        variables(in: try wholeFile(path, limit: maximumSize))
    }

    /// Those of a text, by name. Of a name that is there twice, the last.
    public static func variables(in text: [UInt8]) -> [String: String] {
        var (file, variables) = (EnvironmentFile(rest: text[...]), [String: String]())
        while let (name, value) = file.next() {
            guard let first = name.first, !(0x30...0x39).contains(first), !value.contains(0),
                let name = String(validating: name, as: UTF8.self), Variables.isName(name),
                let value = String(validating: value, as: UTF8.self)
            else { continue }
            variables[name] = value
        }
        return variables
    }

    /// Takes the next assignment, its value without quotes; nil at the end.
    private mutating func next() -> (name: [UInt8], value: [UInt8])? {
        while let first = rest.first {
            if Self.isBlank(first) || first == Self.newline {
                rest.removeFirst()
            } else if first == UInt8(ascii: "#") || first == UInt8(ascii: ";") {
                _ = unquoted()
            } else {
                let line = rest.prefix { $0 != Self.newline }
                guard let mark = line.firstIndex(of: UInt8(ascii: "=")) else {
                    rest = rest[line.endIndex...]
                    continue
                }
                rest = rest[line.index(after: mark)...]
                return (Self.trimmed(line[..<mark]), value())
            }
        }
        return nil
    }

    /// Parts in quotes, and then one without them.
    private mutating func value() -> [UInt8] {
        var value: [UInt8] = []
        while let first = rest.first, first != Self.newline {
            if Self.isBlank(first) {
                rest.removeFirst()
            } else if first == UInt8(ascii: "'") || first == UInt8(ascii: "\"") {
                rest.removeFirst()
                value.append(contentsOf: quoted(until: first))
            } else {
                value.append(contentsOf: unquoted())
            }
        }
        return value
    }

    private mutating func quoted(until end: UInt8) -> [UInt8] {
        var part: [UInt8] = []
        while let byte = rest.popFirst(), byte != end {
            guard byte == Self.backslash, end == UInt8(ascii: "\""), let escaped = rest.popFirst() else {
                part.append(byte)
                continue
            }
            if !"\"\\`$\n".utf8.contains(escaped) { part.append(byte) }
            if escaped != Self.newline { part.append(escaped) }
        }
        return part
    }

    /// Up to the end of the line, without blanks at its end.
    private mutating func unquoted() -> [UInt8] {
        var part: [UInt8] = []
        var length = 0
        while let byte = rest.first, byte != Self.newline {
            rest.removeFirst()
            let escaped = byte == Self.backslash ? rest.popFirst() : nil
            if let escaped, escaped == Self.newline { continue }
            part.append(escaped ?? byte)
            if escaped != nil || !Self.isBlank(byte) { length = part.count }
        }
        return Array(part.prefix(length))
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        guard let last = bytes.lastIndex(where: { !isBlank($0) }) else { return [] }
        return Array(bytes[...last])
    }
}
