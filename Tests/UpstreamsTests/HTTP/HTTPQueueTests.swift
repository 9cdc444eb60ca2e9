import DNSWire
import HTTPDNS
import Scheduling
import TestSupport
import Testing

@testable import Platform
@testable import Upstreams

/// Requests that wait for room at a service, from several client networks.
@Suite(.onLoop)
struct HTTPQueueTests {
    @Loop
    private func transfer(_ holder: ClientNetwork, _ name: String) throws -> HTTPTransfer {
        let origin = HTTPOrigin(
            scheme: .https, address: .v4(0x7f00_0001), port: 9, urlPort: nil, hosts: ["vendor.example"], basePath: "",
            caFile: "", pins: [], proxy: nil)
        let loop = LoopRunner.shared.loop
        return HTTPTransfer(
            HTTPRequest(target: name), timeout: .seconds(1), deadline: loop.now, holder: holder, permit: nil,
            on: try HTTPTransfers(origin, loop: loop)
        ) { _ in }
    }

    private let flooder = ClientNetwork(.v4(0xc000_0201))
    private let other = ClientNetwork(.v4(0xc000_0202))

    @Test @Loop func `a client with few requests waits behind one of each other client`() throws {
        var queue = HTTPQueue()
        for number in 0..<100 { _ = queue.append(try transfer(flooder, "/f\(number)")) }
        _ = queue.append(try transfer(other, "/o"))
        let targets = (0..<3).compactMap { _ in queue.popFirst()?.request.target }
        #expect(targets == ["/f0", "/o", "/f1"])
        #expect(queue.count == 98)
    }

    @Test @Loop func `one client alone is served first in, first out`() throws {
        var queue = HTTPQueue()
        for number in 0..<4 { _ = queue.append(try transfer(flooder, "/\(number)")) }
        #expect((0..<5).map { _ in queue.popFirst()?.request.target } == ["/0", "/1", "/2", "/3", nil])
    }

    @Test @Loop func `what has waited before goes ahead of all`() throws {
        var queue = HTTPQueue()
        _ = queue.append(try transfer(flooder, "/new"))
        _ = queue.prepend(try transfer(other, "/again"))
        #expect(queue.popFirst()?.request.target == "/again")
    }

    @Test @Loop func `when there are too many the client with most is displaced, and never by itself`() throws {
        var queue = HTTPQueue()
        for number in 0..<9 { _ = queue.append(try transfer(flooder, "/f\(number)")) }
        #expect(queue.yielding(to: other)?.request.target == "/f8")
        #expect(queue.yielding(to: flooder) == nil)
    }

    @Test @Loop func `one that leaves is not served`() throws {
        var queue = HTTPQueue()
        let place = queue.append(try transfer(flooder, "/gone"))
        _ = queue.append(try transfer(flooder, "/stays"))
        queue.remove(place)
        #expect(queue.count == 1 && queue.popFirst()?.request.target == "/stays")
    }
}
