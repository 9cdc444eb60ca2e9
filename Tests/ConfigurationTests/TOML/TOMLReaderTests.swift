@testable import Configuration
import Testing

struct TOMLReaderTests {
    private func read(_ text: String) throws -> TOMLNode { try TOMLReader.read(Array(text.utf8)) }

    @Test func `a key has its line, a table that of its header`() throws {
        let root = try read("# a\na = 1 # b\n\n[b] # c\n  c = 2\r\n\td=3")
        #expect(root["a"]?.line == 2)
        #expect(root["b"]?.line == 4)
        #expect(root["b"]?["c"]?.line == 5)
        #expect(root["b"]?["d"]?.line == 6)
    }

    @Test func `entries of arrays of tables count from one`() throws {
        let root = try read("[[p]]\na=1\n[[p]]\na=2\n[p.q]\nb=3\n[[p.r]]\nc=4\n[[p]]\n[[p.r]]\nc=5")
        #expect(root["p"]?.line == 1)
        #expect(root["p"]?[1]?["a"]?.line == 2)
        #expect(root["p"]?[2]?.line == 3)
        #expect(root["p"]?[2]?["a"]?.line == 4)
        #expect(root["p"]?[2]?["q"]?["b"]?.line == 6)
        #expect(root["p"]?[2]?["r"]?[1]?["c"]?.line == 8)
        #expect(root["p"]?[3]?["r"]?[1]?["c"]?.line == 11)
    }

    @Test func `what strings of several lines hold are no keys`() throws {
        let root = try read(
            "a = \"\"\"\nx = 1\n\\\"\"\" \\\n  \n\"\"\"\"\"\nb = '''\n[c]'''\nd = \"#[\\\"\"\ne = '\\'\nf = 1")
        #expect(root["x"] == nil)
        #expect(root["b"]?.line == 6)
        #expect(root["c"] == nil)
        #expect(root["d"]?.line == 8)
        #expect(root["e"]?.line == 9)
        #expect(root["f"]?.line == 10)
    }

    @Test func `what stands in brackets has its own line`() throws {
        let root = try read("a = [ # [\n 1,\n [2, 3],\n { b = 4, c.d = [\n5 ] }, ]\ne = {}\nf = []")
        #expect(root["a"]?[1]?.line == 2)
        #expect(root["a"]?[2]?[2]?.line == 3)
        #expect(root["a"]?[3]?["b"]?.line == 4)
        #expect(root["a"]?[3]?["c"]?["d"]?[1]?.line == 5)
        #expect(root["e"]?.line == 6)
        #expect(root["f"]?.line == 7)
    }

    @Test func `a path without a node has that of the table around it`() throws {
        let root = try read("\n[[p]]\n")
        #expect(root.nearest(to: SettingPath(parts: [.key("p"), .entry(1), .key("type")]))?.line == 2)
        #expect(root.nearest(to: SettingPath(parts: [.key("p"), .entry(2)]))?.line == 2)
        #expect(root.nearest(to: SettingPath(parts: [.key("q")])) == nil)
    }

    @Test func `keys that look alike in different bytes are different keys`() throws {
        let root = try read("\"\u{e9}\" = 1\n\"e\u{301}\" = 2")
        #expect(root["\u{e9}"]?.line == 1)
        #expect(root["e\u{301}"]?.line == 2)
    }

    @Test func `a byte order mark is skipped, and no part of a column`() throws {
        #expect(try read("\u{feff}a = 1")["a"]?.line == 1)
        #expect(throws: SyntaxProblem(line: 1, column: 5, message: "the text ends too early: the value is missing")) {
            try read("\u{feff}a = ")
        }
    }

    @Test func `an array of tables as long as a file may be is read in a moment`() throws {
        // Copied for each of its entries it would take minutes.
        let root = try read(String(repeating: "[[a]]\n", count: Configuration.maximumFileSize / 6))
        #expect(root["a"]?[174_762]?.line == 174_762)
    }
}

extension TOMLNode {
    /// - Parameter entry: counted from 1.
    subscript(entry: Int) -> TOMLNode? {
        guard case .array(let nodes) = value, nodes.indices.contains(entry - 1) else { return nil }
        return nodes[entry - 1]
    }
}
