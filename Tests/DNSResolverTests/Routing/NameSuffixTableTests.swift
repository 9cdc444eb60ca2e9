import DNSWire
import TestSupport
import Testing

@testable import DNSResolver

/// The look-up of a name's nearest parent.
struct NameSuffixTableTests {
    private func table(_ names: [String]) -> NameSuffixTable<Int> {
        var table = NameSuffixTable<Int>()
        for (value, name) in names.enumerated() { table.set(value, for: (try? Name(name)) ?? .root) }
        return table
    }

    @Test func `random names get the value that a comparison of all suffixes gives`() throws {
        var numbers = SeededNumbers(1)
        let labels = ["a", "b", "lan", "LAN", "com", "x-y", "example", "Example"]
        func random() -> String {
            (0...Int.random(in: 0...3, using: &numbers)).map { _ in labels.randomElement(using: &numbers) ?? "" }
                .joined(separator: ".")
        }
        for _ in 0..<300 {
            let entries = (0..<Int.random(in: 0...6, using: &numbers)).map { _ in random() }
            let table = table(entries)
            for _ in 0..<10 {
                let name = try Name(random())
                let parents = try entries.map { try Name($0) }.enumerated().filter { name.isWithin($1) }
                let longest = parents.map { $1.wire.count }.max()
                let expected = parents.last { $1.wire.count == longest }?.offset
                #expect(table.nearest(to: name)?.value == expected, "\(name) in \(entries)")
            }
        }
    }

    @Test func `an entry for the root names everything, unless it is left out`() throws {
        let table = table([".", "lan"])
        #expect(table.nearest(to: try Name("www.example.com"))?.value == 0)
        #expect(table.nearest(to: .root)?.value == 0)
        #expect(table.nearest(to: try Name("www.example.com"), belowRoot: true) == nil)
        #expect(table.nearest(to: try Name("nas.LAN"), belowRoot: true)?.value == 1)
    }
}
