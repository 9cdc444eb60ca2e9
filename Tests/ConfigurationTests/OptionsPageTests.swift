import Configuration
import Foundation
import Testing

/// `Documentation/Options.md` against the schema, and against what is built.
struct OptionsPageTests {
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
        Configuration.allKeys.compactMap { key in entries.first { $0.path == key.path }.map { (key, $0) } }
    }

    @Test func `every key of the schema has its entry, once and in the order of the file`() {
        #expect(entries.map(\.path) == Configuration.allKeys.map(\.path))
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
        let examples = try examples()
        #expect(examples.map(\.key) == Configuration.allKeys)
        try withCredentials { environment in
            for (key, example) in examples {
                let name = key.path.split(separator: ".").last ?? ""
                let table = key.path.dropLast(name.count + 1)
                let header = table.hasSuffix("[]") ? "[[\(table.dropLast(2))]]\n" : "[\(table)]\n"
                #expect(example.hasPrefix(header) && example.contains("\n\(name) = "), "\(key.path)")
                // With a provider beside it, which an example may do without.
                _ = try accepted(minimal + example, environment: environment)
            }
        }
    }
}
