import DNSResolver
import DNSWire
import Foundation
import Testing

@testable import Configuration

/// Where the entries of lists stand in the files.
struct RuleListTests {
    private let text = """
        [route]
        protect = [
          "one.example", "two.example",
          # A comment, and a blank line.

          "three.example",
          "${MORE}",
        ]
        bypass = ["four.example"]
        network_names = ["lan",
          "corp"]
        [preset]
        always = { "www.example.com" = ["192.0.2.1"], "*.example.com" = ["192.0.2.2"] }
        [[forward]]
        suffixes = ["five.example"]
        servers = ["192.0.2.53"]
        [[forward]]
        suffixes = [
          "six.example"]
        servers = ["192.0.2.53"]
        [[provider]]
        type = "doh"
        url = "https://192.0.2.1/dns-query"
        names = ["seven.example"]
        """

    private func rules(_ name: Name) -> [String: RoutingRule] {
        [
            "protect": .protect(name), "bypass": .bypass(name), "network": .network(name), "provider": .provider(name),
            "forward 0": .forward(index: 0, name), "forward 1": .forward(index: 1, name),
            "forward 9": .forward(index: 9, name), "preset": .preset(name, isWildcard: false),
            "wildcard": .preset(name, isWildcard: true),
        ]
    }

    @Test(arguments: [
        ("one.example", "protect", 3), ("two.example", "protect", 3), ("three.example", "protect", 6),
        ("a.example", "protect", 7), ("b.example", "protect", 7), ("four.example", "bypass", 9), ("lan", "network", 10),
        ("corp", "network", 11), ("www.example.com", "preset", 13), ("example.com", "wildcard", 13),
        ("five.example", "forward 0", 15), ("six.example", "forward 1", 19), ("seven.example", "provider", 24),
    ])
    func `an entry has its line, also one of a variable`(name: String, rule: String, line: Int) throws {
        let loaded = try accepted(text, environment: ["MORE": "a.example, b.example"]).configuration
        let rule = try #require(try rules(Name(name))[rule])
        #expect(loaded.place(of: rule, file: "t.toml") == "t.toml:\(line)")
    }

    @Test func `what no file has is nowhere`() throws {
        let whole = try accepted(text, environment: ["MORE": "a.example"]).configuration
        for rule in try rules(Name("other.example")).values {
            #expect(whole.place(of: rule, file: "t.toml") == nil)
            #expect(try accepted(minimal).configuration.place(of: rule, file: "t.toml") == nil)
        }
    }

    @Test func `static addresses of a file of hosts are found in it`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try "# Hosts\n192.0.2.1 www.example.com\n192.0.2.2 other.example.com www.example.com\n"
            .write(toFile: path, atomically: true, encoding: .utf8)
        let configuration = try accepted(minimal + "[preset]\nhosts_file = \"\(path)\"").configuration
        for (name, line) in [("www.example.com", 2), ("other.example.com", 3)] {
            #expect(
                try configuration.place(of: .preset(Name(name), isWildcard: false), file: "t.toml")
                    == "\(path):\(line)")
        }
    }

    @Test func `a comment makes no other configuration`() throws {
        #expect(try accepted("# A comment.\n" + minimal).configuration == accepted(minimal).configuration)
    }

    @Test func `static addresses on another line are the same`() {
        let entries = [1, 2].map { PresetEntry(name: .root, isWildcard: false, line: $0, addresses: []) }
        #expect(entries[0] == entries[1] && Set(entries).count == 1)
    }
}
