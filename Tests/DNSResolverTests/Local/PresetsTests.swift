import DNSResolver
import DNSWire
import Testing

struct PresetsTests {
    private func presets(_ entries: [(String, [String])]) throws -> Presets {
        var presets = Presets()
        for (text, addresses) in entries {
            let isWildcard = text.hasPrefix("*.")
            presets.add(
                try Name(isWildcard ? String(text.dropFirst(2)) : text), isWildcard: isWildcard,
                addresses: addresses.compactMap { IPAddress($0) })
        }
        return presets
    }

    private func addresses(_ presets: Presets, _ name: String) throws -> [String]? {
        presets.addresses(of: try Name(name))?.map(\.description)
    }

    @Test func `a name is found in any letter case, and names beside, above and below it are not`() throws {
        let presets = try presets([("WWW.example.com", ["192.0.2.1"])])
        #expect(try addresses(presets, "www.Example.COM") == ["192.0.2.1"])
        for other in ["example.com", "a.www.example.com", "xwww.example.com", "www.example.co"] {
            #expect(try addresses(presets, other) == nil)
        }
    }

    @Test func `a wildcard stands for all names below its own, and not for itself`() throws {
        let presets = try presets([("*.example.com", ["192.0.2.1"])])
        #expect(try addresses(presets, "a.example.com") == ["192.0.2.1"])
        #expect(try addresses(presets, "a.b.Example.com") == ["192.0.2.1"])
        #expect(try addresses(presets, "example.com") == nil)
        #expect(try addresses(presets, "notexample.com") == nil)
    }

    @Test func `the longest wildcard wins, and a name's own entry over each of them`() throws {
        let presets = try presets([
            ("*.com", ["192.0.2.1"]), ("*.example.com", ["192.0.2.2"]), ("www.example.com", ["192.0.2.3"]),
        ])
        #expect(try addresses(presets, "other.com") == ["192.0.2.1"])
        #expect(try addresses(presets, "example.com") == ["192.0.2.1"])
        #expect(try addresses(presets, "a.example.com") == ["192.0.2.2"])
        #expect(try addresses(presets, "www.example.com") == ["192.0.2.3"])
    }

    @Test func `what was added first stays`() throws {
        let presets = try presets([("a.example", ["192.0.2.1"]), ("a.example", ["192.0.2.2"])])
        #expect(try addresses(presets, "a.example") == ["192.0.2.1"])
        #expect(presets.count == 1)
    }

    @Test func `a name without addresses of a family has no record of it, with an SOA, and is not asked for`() throws {
        let presets = try presets([("a.example", ["192.0.2.1", "192.0.2.2"])])
        let name = try Name("a.example")
        let addresses = presets.answer(to: Question(name: name, type: .a), ttl: 60)
        #expect(addresses?.addresses.map(\.description) == ["192.0.2.1", "192.0.2.2"])
        #expect(addresses?.answers.allSatisfy { $0.ttl == 60 } == true)
        #expect(presets.answer(to: Question(name: name, type: .aaaa), ttl: 60) == .negative(name: name, ttl: 60))
        #expect(presets.answer(to: Question(name: name, type: .txt), ttl: 60) == nil)
    }

    @Test func `the longest of names is looked up label by label`() throws {
        let name = Array(repeating: "a", count: 127).joined(separator: ".")
        let presets = try presets([("*.\(String(name.dropFirst(2)))", ["192.0.2.1"]), ("*.a", ["192.0.2.2"])])
        #expect(try addresses(presets, name) == ["192.0.2.1"])
        #expect(try addresses(presets, "b.a") == ["192.0.2.2"])
    }
}
