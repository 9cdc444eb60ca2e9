import Foundation
import Testing

@testable import Configuration

/// `Documentation/Variables.md` is made here, and each variable that it lists is tried.
struct VariablesPageTests {
    private static let page = """
        # Variables

        Every key of [Options](Options.md), but the tables of names in `[preset]`, can be set by a variable of the environment:
        in a configuration that reads variables whose names begin with `HTTPDNSD_`, as the
        [container's](Recipes.md#a-container) does. This page is made from the schema:
        `HTTPDNSD_WRITE_PAGES=1 scripts/test ConfigurationTests/VariablesPageTests` writes it.

        - **Name**: `HTTPDNSD_`, the table and the key, in capitals and with `_` between them. The tables in double brackets are
          numbered from 1, without a gap: `HTTPDNSD_PROVIDER_2_TYPE` is the type of the second provider.
        - **Value**: as in the file, without quotes. The items of a list have commas between them. An empty variable counts as
          none.
        - A variable goes before what the file has. Two for one key are an error: the container's file has
          [short names](Recipes.md#a-container) of its own for some.
        - One that no key has is an error, and the message names the nearest.

        | variable | key | value |
        |---|---|---|

        """

    private static var text: String {
        Configuration.allKeys.reduce(into: page) { text, key in
            guard let name = EnvironmentKeys.name(key) else { return }
            let anchor = key.path.filter { !".[]".contains($0) }
            let range = key.range.map { ", \($0)" } ?? ""
            text += "| `\(name)` | [`\(key.path)`](Options.md#\(anchor)) | \(key.type)\(range) |\n"
        }
    }

    @Test func `the page is what the schema makes of it`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Documentation/Variables.md").standardized
        if ProcessInfo.processInfo.environment["HTTPDNSD_WRITE_PAGES"] != nil {
            try Self.text.write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == Self.text)
    }

    @Test func `the variable of each key sets it as its example in the options page does`() throws {
        let first = minimal.replacing("https://192.0.2.1/dns-query", with: "${HTTPDNSD_FIRST}")
        var tried = 0
        try withCredentials { credentialed in
            let environment = credentialed.merging(["HTTPDNSD_FIRST": "https://192.0.2.1/dns-query"]) { $1 }
            for (key, example) in try examples() {
                // An empty value is the one that no variable sets.
                let example = example.replacing(" = \"\"\n", with: " = \"/a\"\n")
                guard let name = EnvironmentKeys.name(key), let last = key.path.split(separator: ".").last,
                    let start = example.firstRange(of: "\n\(last) = ")
                else { continue }
                let isOpen = example[start.upperBound...].hasPrefix("[\n")
                let end = try #require(example[start.upperBound...].firstRange(of: isOpen ? "]\n" : "\n")).upperBound
                var value = example[start.upperBound..<end].filter { !"\" \n".contains($0) }
                // Of a list what is between its brackets; an address has its own.
                if value.hasPrefix("["), value.hasSuffix("]"), !key.type.hasPrefix("address") {
                    value = String(value.dropFirst().dropLast())
                }
                if value.hasSuffix(",") { value.removeLast() }
                let text = credentials.reduce(value) { $0.replacing("${\($1.key)}", with: $1.value) }
                    .replacing("${CREDENTIALS_DIRECTORY}", with: environment["CREDENTIALS_DIRECTORY"] ?? "")
                let variable = key.path.hasPrefix("provider[]") ? name.replacing("_1_", with: "_2_") : name
                let rest = example[..<start.lowerBound] + "\n" + example[end...]
                let byVariable = try accepted(first + rest, environment: environment.merging([variable: text]) { $1 })
                let byFile = try accepted(first + example, environment: environment)
                #expect(byVariable.configuration == byFile.configuration, "\(variable)=\(text)")
                tried += 1
            }
        }
        #expect(tried == Configuration.allKeys.count(where: { EnvironmentKeys.name($0) != nil }))
    }
}
