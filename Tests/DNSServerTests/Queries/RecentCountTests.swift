import Scheduling
import TestSupport
import Testing

@testable import DNSServer

/// Which queries count as having begun a short time ago.
@Suite struct RecentCountTests {
    private func at(_ milliseconds: Int64) -> Instant {
        Instant(nanoseconds: 1_000_000_000_000 + milliseconds * 1_000_000)
    }

    @Test func `a query counts for its span and the next`() {
        var recent = RecentCount(span: .milliseconds(100))
        recent.advance(to: at(0))
        _ = recent.add()
        recent.advance(to: at(99))
        #expect(recent.count == 1)
        recent.advance(to: at(100))
        #expect(recent.count == 1)
        recent.advance(to: at(200))
        #expect(recent.count == 0)
    }

    @Test func `one that ends is not counted any more, and one that ends late changes nothing`() {
        var recent = RecentCount(span: .milliseconds(100))
        recent.advance(to: at(0))
        let (first, second, third) = (recent.add(), recent.add(), recent.add())
        recent.remove(first)
        #expect(recent.count == 2)
        recent.advance(to: at(100))
        recent.remove(second)
        #expect(recent.count == 1)
        recent.advance(to: at(350))
        _ = recent.add()
        recent.remove(third)
        #expect(recent.count == 1)
    }
}
