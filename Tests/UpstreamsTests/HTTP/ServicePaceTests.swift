import HTTPDNS
import Scheduling
import Testing

@testable import Upstreams

/// How many requests at once a service takes.
struct ServicePaceTests {
    private static let start = Instant(nanoseconds: 1_000_000_000_000)
    private static let refusal = HTTPResponse(status: 429)

    private func refuse(
        _ pace: inout ServicePace, _ response: HTTPResponse = refusal, repeats: Int = 0, underWay: Int = 29,
        within: Duration = .seconds(2), after: Duration = .zero
    ) -> Duration? {
        pace.refused(
            response, repeats: repeats, underWay: underWay, until: Self.start + within, at: Self.start + after)
    }

    @Test func `it is halved once for all that was sent together, and not below four`() {
        var pace = ServicePace()
        for _ in 0..<22 { #expect(refuse(&pace) == .milliseconds(100)) }
        #expect(pace.limit == 15)
        _ = refuse(&pace, underWay: 14, after: .milliseconds(100))
        #expect(pace.limit == 7)
        _ = refuse(&pace, underWay: 6, after: .milliseconds(200))
        _ = refuse(&pace, underWay: 3, after: .milliseconds(300))
        #expect(pace.limit == 4)
    }

    @Test func `it grows by one with each round of answers, until there is no limit`() {
        var pace = ServicePace()
        _ = refuse(&pace, underWay: 7)
        for _ in 0..<4 { pace.answered(capacity: 7) }
        #expect(pace.limit == 5)
        for _ in 0..<5 { pace.answered(capacity: 7) }
        #expect(pace.limit == 6)
        for _ in 0..<6 { pace.answered(capacity: 7) }
        #expect(pace.limit == nil)
    }

    @Test(arguments: [(0, 100), (1, 200), (2, 400)])
    func `each wait of a request is twice the last one`(repeats: Int, wait: Int) {
        var pace = ServicePace()
        #expect(refuse(&pace, repeats: repeats) == .milliseconds(wait))
    }

    @Test func `a request is sent again three times, in its time alone, and when the service says`() {
        var pace = ServicePace()
        #expect(refuse(&pace, repeats: 3) == nil)
        #expect(refuse(&pace, within: .milliseconds(100)) == nil)
        #expect(refuse(&pace, HTTPResponse(status: 503, retryAfter: 1)) == .seconds(1))
        #expect(refuse(&pace, HTTPResponse(status: 503, retryAfter: 2)) == nil)
        #expect(refuse(&pace, HTTPResponse(status: 503, retryAfter: .max)) == nil)
    }

    @Test func `a service that answers nothing for 0.9 s has failed, and one that answers has not`() {
        var pace = ServicePace()
        #expect(refuse(&pace) != nil)
        #expect(refuse(&pace, after: .milliseconds(899)) != nil)
        #expect(refuse(&pace, after: .milliseconds(900)) == nil)
        pace.answered(capacity: 64)
        #expect(refuse(&pace, after: .milliseconds(901)) != nil)
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
