import DNSWire
import HTTPDNS
import Testing

@testable import Upstreams

/// How many requests at once a service takes.
struct ServicePaceTests {
    private static let start = Instant(nanoseconds: 1_000_000_000_000)
    private static let refusal = HTTPResponse(status: 429)

    private func refuse(
        _ pace: inout ServicePace, _ response: HTTPResponse = refusal, waits: Int = 0, sent: Int? = nil,
        underWay: Int = 29, capacity: Int = 64, within: Duration = .seconds(2), after: Duration = .zero
    ) -> Duration? {
        pace.refused(
            retryAfter: response.retryAfter, waits: waits, sent: sent ?? pace.round, underWay: underWay,
            capacity: capacity,
            until: Self.start + within, at: Self.start + after)
    }

    /// Returns whether that ends the limit.
    private func answer(_ pace: inout ServicePace) -> Bool {
        let hadLimit = pace.limit != nil
        pace.answered()
        return hadLimit && pace.limit == nil
    }

    @Test func `it is halved once for all that was sent together, and not below four`() {
        var pace = ServicePace()
        for _ in 0..<15 { #expect(refuse(&pace, sent: 0) == .milliseconds(150)) }
        #expect(pace.limit == 15)
        _ = refuse(&pace, sent: 1, underWay: 14)
        #expect(pace.limit == 7)
        _ = refuse(&pace, sent: 2, underWay: 6)
        _ = refuse(&pace, sent: 3, underWay: 3)
        #expect(pace.limit == 4)
    }

    @Test func `where more than half are refused it is as many as were not, and not below four`() {
        var pace = ServicePace()
        for _ in 0..<22 { _ = refuse(&pace, sent: 0) }
        #expect(pace.limit == 8)
        for _ in 0..<8 { _ = refuse(&pace, sent: 0) }
        #expect(pace.limit == 4)
    }

    @Test func `it grows by one with each round of answers, until there is no limit`() {
        var pace = ServicePace()
        _ = refuse(&pace, underWay: 7, capacity: 7)
        for _ in 0..<4 { #expect(!answer(&pace)) }
        #expect(pace.limit == 5)
        for _ in 0..<5 { #expect(!answer(&pace)) }
        #expect(pace.limit == 6)
        for _ in 0..<5 { #expect(!answer(&pace)) }
        #expect(answer(&pace))
        #expect(pace.limit == nil)
    }

    @Test(arguments: [(0, 150), (1, 300), (2, 600), (3, 1_200), (.max, 38_400)])
    func `each wait of a request is twice the last one`(waits: Int, wait: Int) {
        var pace = ServicePace()
        #expect(refuse(&pace, waits: waits, within: .seconds(60)) == .milliseconds(wait))
    }

    @Test func `a request is sent again while its answer has 0.4 s, and when the service says if that is in its time`()
    {
        var pace = ServicePace()
        #expect(refuse(&pace, within: .milliseconds(549)) == nil)
        #expect(refuse(&pace, within: .milliseconds(550)) == .milliseconds(150))
        #expect(refuse(&pace, waits: 3, within: .milliseconds(1_599)) == nil)
        #expect(refuse(&pace, HTTPResponse(status: 503, retryAfter: 1)) == .seconds(1))
        #expect(
            refuse(&pace, HTTPResponse(status: 503, retryAfter: 1), waits: 1, within: .milliseconds(1_399))
                == .milliseconds(300))
        #expect(refuse(&pace, HTTPResponse(status: 503, retryAfter: 2)) == .milliseconds(150))
        #expect(refuse(&pace, HTTPResponse(status: 503, retryAfter: .max)) == .milliseconds(150))
        #expect(refuse(&pace, HTTPResponse(status: 503, retryAfter: 2), within: .milliseconds(549)) == nil)
    }

    @Test func `a service that answers nothing for 0.9 s has failed, and one that answers has not`() {
        var pace = ServicePace()
        #expect(refuse(&pace) != nil)
        #expect(refuse(&pace, after: .milliseconds(899)) != nil)
        #expect(refuse(&pace, after: .milliseconds(900)) == nil)
        #expect(!answer(&pace))
        #expect(refuse(&pace, after: .milliseconds(901)) != nil)
    }

    @Test func `the time for which a service says to wait is none in which it answers nothing`() {
        var pace = ServicePace()
        let busy = HTTPResponse(status: 503, retryAfter: 1)
        #expect(refuse(&pace, busy) == .seconds(1))
        #expect(refuse(&pace, busy, waits: 1, after: .seconds(1)) == .milliseconds(300))
        #expect(refuse(&pace, busy, within: .seconds(4), after: .milliseconds(1_899)) == .seconds(1))
        #expect(refuse(&pace, busy, within: .seconds(4), after: .milliseconds(1_900)) == nil)
    }

    @Test(
        arguments: [
            (200, nil, false), (404, nil, false), (500, nil, false), (429, nil, true), (502, nil, true),
            (503, nil, true),
            (403, 5, true), (200, 5, false),
        ] as [(Int, UInt32?, Bool)])
    func `the statuses that say so`(status: Int, retryAfter: UInt32?, isRefusal: Bool) {
        #expect(ServicePace.isRefusal(HTTPResponse(status: status, retryAfter: retryAfter)) == isRefusal)
    }
}
