import DNSWire
import Testing

@testable import Admin

/// The names that the page shows as asked for most.
struct HottestNamesTests {
    private let start = Instant(nanoseconds: 1_000_000_000_000)

    private func name(_ text: String) throws -> Name { try Name(text) }

    @Test func `the most frequent name comes first, in whatever letter case it was asked for`() throws {
        var names = HottestNames(at: start)
        for text in ["a.example", "b.example", "B.Example", "c.example"] { names.add(try name(text), at: start) }
        #expect(
            names.top(at: start).map { "\($0.label) \($0.count)" } == ["b.example 2", "a.example 1", "c.example 1"])
    }

    @Test func `twenty are shown`() throws {
        var names = HottestNames(at: start)
        for number in 0..<100 { names.add(try name("\(number).example"), at: start) }
        #expect(names.top(at: start).count == HottestNames.shown)
    }

    @Test func `queries count for ten minutes at least and twenty at most`() throws {
        for (asked, shown, count) in [(0, 600, 1), (0, 1_200, 0), (599, 1_199, 1), (599, 1_200, 0), (0, 5_000, 0)] {
            var names = HottestNames(at: start)
            names.add(try name("a.example"), at: start + .seconds(asked))
            for seconds in [600, 1_199, 1_200] where seconds < shown { _ = names.top(at: start + .seconds(seconds)) }
            #expect(names.top(at: start + .seconds(shown)).count == count, "asked at \(asked) s, shown at \(shown) s")
        }
    }

    @Test func `names asked for once each take no more than the fixed memory, and hide no frequent one`() throws {
        var counts = NameCounts()
        for number in 0..<10_000 {
            counts.add(try name("\(number).random.example"))
            if number.isMultiple(of: 20) { counts.add(try name("frequent.example")) }
        }
        #expect(counts.counts.count == NameCounts.limit)
        let found = try #require(counts.counts[try name("frequent.example")])
        #expect((500...500 + 10_500 / NameCounts.limit).contains(found))
    }
}
