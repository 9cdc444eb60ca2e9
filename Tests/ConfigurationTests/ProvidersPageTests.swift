import Configuration
import Testing

/// `Documentation/Providers.md` against the types of provider.
@Suite struct ProvidersPageTests {
    private let lines: [Substring]

    init() throws { lines = try documentationLines("Providers.md") }

    @Test func `every type that is built has its section, with the parts of a manual page`() {
        let parts = [
            "Name", "Description", "Configuration", "What is sent", "What is authenticated", "Costs and batches",
            "Empty answers", "Errors", "Example",
        ]
        for type in ProviderType.allCases {
            guard let start = lines.firstIndex(of: "## `\(type.rawValue)`") else {
                #expect(!type.isBuilt, "\(type.rawValue) has no section")
                continue
            }
            #expect(type.isBuilt, "\(type.rawValue) has a section")
            let section = lines[(start + 1)...].prefix { !$0.hasPrefix("## ") }
            #expect(section.filter { $0.hasPrefix("### ") } == parts.map { "### \($0)" }, "\(type.rawValue)")
        }
    }

    @Test func `the types that are not built are listed as such`() {
        let types = ProviderType.allCases.filter { !$0.isBuilt }.map { "`\($0.rawValue)`" }
        let lists = lines.filter { $0.hasPrefix("Not built yet: ") }
        #expect(lists.count == (types.isEmpty ? 0 : 1))
        #expect(lists.allSatisfy { $0.hasPrefix("Not built yet: \(types.joined(separator: ", ")).") })
    }

    @Test func `every example loads without a warning`() throws {
        let examples = lines.split(separator: "```toml").dropFirst().map { $0.prefix { $0 != "```" } }
        #expect(examples.count == ProviderType.allCases.filter(\.isBuilt).count)
        for example in examples {
            let loaded = try accepted(
                example.joined(separator: "\n"),
                environment: ["ALIYUN_HTTPDNS_SECRET": "secret", "ALIDNS_SECRET": "secret"])
            #expect(loaded.warnings.isEmpty)
        }
    }
}
