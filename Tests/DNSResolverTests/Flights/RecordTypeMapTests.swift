import DNSWire
import Testing

@testable import DNSResolver

/// Values by record type: up to two without heap storage, and any number.
@Suite struct RecordTypeMapTests {
    private static let types: [RecordType] = [.a, .aaaa, .https, .txt, .ptr]

    /// A map of the first types, each to its place.
    private func places(_ count: Int) -> RecordTypeMap<Int> {
        var map = RecordTypeMap<Int>()
        for (place, type) in Self.types.prefix(count).enumerated() { map[type] = place }
        return map
    }

    /// The values of all types.
    private func values(_ map: RecordTypeMap<Int>) -> [Int?] { Self.types.map { map[$0] } }

    @Test(arguments: 0...5) func `a type has its value, and the others have none`(count: Int) {
        let map = places(count)
        #expect(values(map) == (0..<5).map { $0 < count ? $0 : nil })
        for place in 0..<5 { #expect(map.containsValue { $0 == place } == (place < count)) }
    }

    @Test(arguments: 0...5) func `each type and value comes once, whether by an iterator or without`(count: Int) {
        let map = places(count)
        var each: [Int] = []
        map.forEach { type, value in each.append(Self.types[value] == type ? value : -1) }
        var next: [Int] = []
        for (type, value) in map { next.append(Self.types[value] == type ? value : -1) }
        #expect(each == Array(0..<count) && next == each)
    }

    @Test(arguments: 0..<5) func `a value is replaced, removed and added again, and the others stay`(place: Int) {
        var map = places(5)
        var expected: [Int?] = [0, 1, 2, 3, 4]
        for value in [9, nil, 8] {
            map[Self.types[place]] = value
            expected[place] = value
            #expect(values(map) == expected)
        }
    }

    @Test(arguments: 0..<5) func `of several values for one type the first counts`(place: Int) {
        let other = (Self.types[place], 9)
        #expect(RecordTypeMap(places(5).map { ($0.key, $0.value) } + [other]) == places(5))
    }

    @Test func `maps with the same values are equal in whatever order they were added, and others are not`() {
        let map: RecordTypeMap<Int> = [.txt: 3, .https: 2, .a: 0, .aaaa: 1]
        #expect(map == places(4))
        #expect(places(3) != places(4) && places(4) != places(3))
        let other: RecordTypeMap<Int> = [.txt: 3, .https: 2, .a: 0, .aaaa: 0]
        #expect(map != other)
    }
}
