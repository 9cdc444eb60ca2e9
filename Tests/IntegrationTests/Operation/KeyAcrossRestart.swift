import TestServers
import TestSupport

/// A key of the configuration, and a change of its value that changes an answer.
///
/// Before the restart every name has the old addresses, at the vendor and at LocalDNS, and after it the new ones: an answer
/// with an old one was on disk.
struct KeyAcrossRestart: Sendable {
    /// As in the schema: `provider[].name`.
    let path: String
    /// Values by the paths of the keys, as the file has them; nil: the key is left out.
    var both: [String: String?] = [:]
    var before: String?
    var after: String?
    /// Instead of the table of the provider, before and after.
    var providers: (before: String, after: String)?
    var name = "www.example.com"
    var type = TestRecordType.a
    var expects: @Sendable (TestMessage) -> Bool = {
        !$0.addresses.isEmpty && !$0.addresses.contains(where: old.contains)
    }

    static let old = ["192.0.2.1", "198.51.100.1"]
    static let new = ["192.0.2.2", "198.51.100.2"]

    /// The configuration of one of both processes.
    ///
    /// - Parameter base: the values of all other keys.
    func text(_ base: [String: String], isAfter: Bool) -> String {
        var values = base
        for (path, value) in both { values[path] = value }
        values[path] = isAfter ? after : before
        var tables: [String: [String]] = [:]
        for (path, value) in values.sorted(by: { $0.key < $1.key }) {
            let end = path.lastIndex(of: ".") ?? path.endIndex
            tables[String(path[..<end]), default: []].append("\(path[end...].dropFirst()) = \(value)")
        }
        if let providers {
            tables["provider[]"] = nil
            return (isAfter ? providers.after : providers.before) + Self.text(of: tables)
        }
        return Self.text(of: tables)
    }

    private static func text(of tables: [String: [String]]) -> String {
        tables.sorted { $0.key < $1.key }.map { name, lines in
            let header = name.hasSuffix("[]") ? "[[\(name.dropLast(2))]]" : "[\(name)]"
            return ([header] + lines).joined(separator: "\n") + "\n"
        }.joined()
    }
}
