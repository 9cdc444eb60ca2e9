import Configuration
import Testing

/// `Documentation/Providers.md` against the types of provider.
struct ProvidersPageTests {
    private let lines: [Substring]

    init() throws { lines = try documentationLines("Providers.md") }

    @Test func `every type has its section, with the parts of a manual page`() {
        let parts = [
            "Name", "Description", "Configuration", "What is sent", "What is authenticated", "Costs",
            "Empty answers", "Errors", "Example",
        ]
        for type in ProviderType.allCases {
            guard let start = lines.firstIndex(of: "## `\(type.rawValue)`") else {
                Issue.record("\(type.rawValue) has no section")
                continue
            }
            let section = lines[(start + 1)...].prefix { !$0.hasPrefix("## ") }
            #expect(section.filter { $0.hasPrefix("### ") } == parts.map { "### \($0)" }, "\(type.rawValue)")
        }
    }

    @Test func `every example loads without a warning`() throws {
        let examples = lines.split(separator: "```toml").dropFirst().map { $0.prefix { $0 != "```" } }
        #expect(examples.count == ProviderType.allCases.count)
        for example in examples {
            let loaded = try accepted(example.joined(separator: "\n"), environment: credentials)
            #expect(loaded.warnings.isEmpty)
        }
    }
}
