import DNSWire
import Testing

@testable import Upstreams

/// Requests that wait for room at a service, from several client networks.
@Suite
struct HTTPQueueTests {
    private let flooder = ClientNetwork(.v4(0xc000_0201))
    private let other = ClientNetwork(.v4(0xc000_0202))

    @Test func `a client with few requests waits behind one of each other client`() {
        var queue = HTTPQueue<String>()
        for number in 0..<100 { _ = queue.append("/f\(number)", of: flooder) }
        _ = queue.append("/o", of: other)
        let targets = (0..<3).compactMap { _ in queue.popFirst() }
        #expect(targets == ["/f0", "/o", "/f1"])
        #expect(queue.count == 98)
    }

    @Test func `one client alone is served first in, first out`() {
        var queue = HTTPQueue<String>()
        for number in 0..<4 { _ = queue.append("/\(number)", of: flooder) }
        #expect((0..<5).map { _ in queue.popFirst() } == ["/0", "/1", "/2", "/3", nil])
    }

    @Test func `what has waited before goes ahead of all`() {
        var queue = HTTPQueue<String>()
        _ = queue.append("/new", of: flooder)
        _ = queue.prepend("/again")
        #expect(queue.popFirst() == "/again")
    }

    @Test func `when there are too many the client with most is displaced, and never by itself`() {
        var queue = HTTPQueue<String>()
        for number in 0..<9 { _ = queue.append("/f\(number)", of: flooder) }
        #expect(queue.yielding(to: other) == "/f8")
        #expect(queue.yielding(to: flooder) == nil)
    }

    @Test func `one that leaves is not served`() {
        var queue = HTTPQueue<String>()
        let place = queue.append("/gone", of: flooder)
        _ = queue.append("/stays", of: flooder)
        queue.remove(place)
        #expect(queue.count == 1 && queue.popFirst() == "/stays")
    }
}
