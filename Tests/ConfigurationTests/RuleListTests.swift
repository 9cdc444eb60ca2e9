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

    @Test(arguments: [
        ("one.example", RuleList.protect, 3), ("two.example", .protect, 3), ("three.example", .protect, 6),
        ("a.example", .protect, 7), ("b.example", .protect, 7), ("four.example", .bypass, 9),
        ("lan", .networkNames, 10),
        ("corp", .networkNames, 11), ("www.example.com", .presets(isWildcard: false), 13),
        ("example.com", .presets(isWildcard: true), 13), ("five.example", .forward(0), 15),
        ("six.example", .forward(1), 19), ("seven.example", .providerNames, 24),
    ])
    func `an entry has its line, also one of a variable`(name: String, list: RuleList, line: Int) throws {
        let loaded = try accepted(text, environment: ["MORE": "a.example, b.example"])
        #expect(try loaded.configuration.place(of: Name(name), in: list, file: "t.toml") == "t.toml:\(line)")
    }

    @Test(arguments: [
        RuleList.protect, .networkNames, .forward(0), .forward(9), .providerNames, .presets(isWildcard: false),
    ])
    func `what no file has is nowhere`(list: RuleList) throws {
        let name = try Name("other.example")
        let environment = ["MORE": "a.example"]
        #expect(
            try accepted(text, environment: environment).configuration.place(of: name, in: list, file: "t.toml") == nil)
        #expect(try accepted(minimal).configuration.place(of: name, in: list, file: "t.toml") == nil)
    }

    @Test func `static addresses of a file of hosts are found in it`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try "# Hosts\n192.0.2.1 www.example.com\n192.0.2.2 other.example.com www.example.com\n"
            .write(toFile: path, atomically: true, encoding: .utf8)
        let configuration = try accepted(minimal + "[preset]\nhosts_file = \"\(path)\"").configuration
        for (name, line) in [("www.example.com", 2), ("other.example.com", 3)] {
            #expect(
                try configuration.place(of: Name(name), in: .presets(isWildcard: false), file: "t.toml")
                    == "\(path):\(line)")
        }
    }

    @Test func `the lines of a long list take a few bytes`() {
        for lines in [Array(7..<100_007), Array(repeating: 7, count: 100_000)] {
            let runs = LineRuns(lines)
            #expect(runs.runCount == 1 && runs[99_999] == lines.last)
        }
    }

    @Test func `whatever lines a list has, each is found again`() {
        let lines = [3, 3, 3, 4, 5, 6, 6, 8, 20, 20, 7, 7, 8]
        let runs = LineRuns(lines)
        #expect(lines.indices.map { runs[$0] } == lines)
        #expect(runs[lines.count] == nil && runs[-1] == nil && LineRuns([])[0] == nil)
    }

    @Test func `a comment makes no other configuration`() throws {
        #expect(try accepted("# A comment.\n" + minimal).configuration == accepted(minimal).configuration)
    }

    @Test func `static addresses on another line are the same, and their lines take no memory`() {
        let entries = [1, 2].map { PresetEntry(name: .root, isWildcard: false, line: $0, addresses: []) }
        #expect(entries[0] == entries[1] && Set(entries).count == 1)
        #expect(MemoryLayout<PresetEntry>.stride == 24)
    }
}
