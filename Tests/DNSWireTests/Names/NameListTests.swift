import Testing

@testable import DNSWire

/// Long lists of names in one buffer.
struct NameListTests {
    @Test func `a list holds its names in order, doubles too, in lower case`() throws {
        let list: NameList = [try Name("B.example"), .root, try Name("a.b.example"), try Name("b.EXAMPLE")]
        #expect(list.map(\.description) == ["b.example", Name.root.description, "a.b.example", "b.example"])
        #expect(list.count == 4)
        #expect(!list.isEmpty && NameList().isEmpty)
        #expect(list.first == (try Name("b.example")))
    }

    @Test func `lists are equal when their names are, whatever the letter case`() throws {
        #expect(NameList([try Name("a.b")]) == [try Name("A.B")])
        #expect(NameList([try Name("a.b")]) != [try Name("b"), try Name("a")])
    }

    @Test func `a name is known at its place and nowhere else`() throws {
        let list: NameList = [try Name("b.example"), try Name("example")]
        let places = Array(list.indices)
        #expect(list.holds(NameSuffix(try Name("B.Example")), at: places[0]))
        #expect(list.holds(NameSuffix(try Name("example")), at: places[1]))
        #expect(!list.holds(NameSuffix(try Name("b.example")), at: places[1]))
        #expect(!list.holds(NameSuffix(try Name("example")), at: places[0]))
        #expect(!list.holds(NameSuffix(.root), at: places[1]))
        #expect(!list.holds(NameSuffix(try Name("longer.than.what.is.left")), at: places[1]))
    }
}
