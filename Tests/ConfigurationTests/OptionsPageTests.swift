import Configuration
import Foundation
import Testing

/// `Documentation/Options.md` against the schema, and against what is built.
@Suite struct OptionsPageTests {
    /// What the page says of one key.
    private struct Entry {
        let path: String
        /// The lines below the heading.
        let lines: [Substring]

        /// What stands after `- Label: `, if there is one such line.
        func item(_ label: String) -> Substring? {
            let items = lines.filter { $0.hasPrefix("- \(label): ") }
            return items.count == 1 ? items[0].dropFirst(label.count + 4) : nil
        }

        /// The TOML between fences.
        var example: String {
            let fences = lines.indices.filter { lines[$0].hasPrefix("```") }
            guard fences.count == 2, lines[fences[0]] == "```toml" else { return "" }
            return lines[(fences[0] + 1)..<fences[1]].joined(separator: "\n") + "\n"
        }
    }

    private let entries: [Entry]

    init() throws {
        let lines = try documentationLines("Options.md")
        let headings = lines.indices.filter { lines[$0].hasPrefix("##") } + [lines.endIndex]
        entries = zip(headings, headings.dropFirst()).compactMap { start, end in
            guard lines[start].hasPrefix("### `"), lines[start].hasSuffix("`") else { return nil }
            return Entry(path: String(lines[start].dropFirst(5).dropLast()), lines: Array(lines[(start + 1)..<end]))
        }
    }

    /// Each key with what the page says of it.
    private var pairs: [(key: SchemaKey, entry: Entry)] {
        Schema.keys.compactMap { key in entries.first { $0.path == key.path }.map { (key, $0) } }
    }

    @Test func `every key of the schema has its entry, once and in the order of the file`() {
        #expect(entries.map(\.path) == Schema.keys.map(\.path))
    }

    @Test func `the defaults are those of the schema`() {
        for (key, entry) in pairs {
            let text = entry.item("Default") ?? ""
            #expect(text == "`\(key.defaultText)`" || text == key.defaultText, "\(key.path)")
        }
    }

    @Test func `types, units and ranges are those of the schema`() {
        for (key, entry) in pairs {
            #expect(entry.item("Value") ?? "" == key.type + (key.range.map { ", \($0)" } ?? ""), "\(key.path)")
        }
    }

    @Test func `every example loads, and sets the key that it stands under`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try "secret\n".write(to: directory.appending(path: "aliyun"), atomically: true, encoding: .utf8)
        let key = (credentials["FLEET_KEY"] ?? "") + "\n"
        try key.write(to: directory.appending(path: "fleet-key"), atomically: true, encoding: .utf8)
        let environment = credentials.merging(["CREDENTIALS_DIRECTORY": directory.path]) { $1 }
        for entry in entries {
            let name = entry.path.split(separator: ".").last ?? ""
            let table = entry.path.dropLast(name.count + 1)
            let header = table.hasSuffix("[]") ? "[[\(table.dropLast(2))]]\n" : "[\(table)]\n"
            #expect(entry.example.hasPrefix(header), "\(entry.path)")
            #expect(entry.example.contains("\n\(name) = "), "\(entry.path)")
            // With a provider beside it, which an example may do without.
            _ = try accepted(minimal + entry.example, environment: environment)
        }
    }
}
