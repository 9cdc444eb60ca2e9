import DNSWire
import TestSupport
import Testing

@testable import DNSResolver

/// The numbers of routes in cache entries.
@Suite(.onLoop) struct RouteTests {
    @Test @Loop func `each route has a number of its own, by which it is found, and translated answers another`() {
        let routes: [Route] = [
            .protect(explicit: false), .protect(explicit: true), .bypass, .portal, .forward(index: 0),
            .forward(index: 1), .forward(index: 10_000),
        ]
        let tags = routes.map(\.tag)
        #expect(tags.map { Route(tag: $0) } == routes)
        let translated = Machine().store.rules.routeTag(of: .bypass, isTranslated: true)
        #expect(Set(tags + [translated]).count == routes.count + 1)
    }
}
