import DNSWire
import Testing

@testable import Platform

/// Bytes of rtnetlink as the kernel of this machine writes them.
enum RouteBytes {
    static func native<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        var bytes: [UInt8] = []
        withUnsafeBytes(of: number) { bytes += $0 }
        return bytes
    }

    static func message(_ kind: UInt16, flags: UInt16 = 0, _ body: [UInt8]) -> [UInt8] {
        let bytes = native(UInt32(16 + body.count)) + native(kind) + native(flags) + native(UInt64(0)) + body
        return bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    }

    static func attribute(_ kind: UInt16, _ value: [UInt8]) -> [UInt8] {
        let bytes = native(UInt16(4 + value.count)) + native(kind) + value
        return bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    }

    static func link(_ index: UInt32, flags: UInt32, name: String = "eth0", master: UInt32? = nil) -> [UInt8] {
        [0, 0] + native(UInt16(1)) + native(index) + native(flags) + native(UInt32(0))
            + attribute(3, Array(name.utf8) + [0]) + (master.map { attribute(10, native($0)) } ?? [])
    }

    static func address(
        _ text: String, index: UInt32 = 2, scope: UInt8 = 0, flags: UInt32 = 0x80, local: String? = nil
    ) -> [UInt8] {
        let bytes = IPAddress(text)?.bytes ?? []
        return [bytes.count == 4 ? 2 : 10, 24, UInt8(truncatingIfNeeded: flags), scope] + native(index)
            + attribute(1, bytes) + (local.map { attribute(2, IPAddress($0)?.bytes ?? []) } ?? [])
            + attribute(8, native(flags))
    }

    static func route(
        to destination: String? = nil, length: UInt8 = 0, family: UInt8 = 2, maker: UInt8 = 16, kind: UInt8 = 1,
        flags: UInt32 = 0, gateway: String? = nil, interface: UInt32? = 2, table: UInt32 = 254
    ) -> [UInt8] {
        // RT_TABLE_COMPAT stands for a number that does not fit.
        let shortTable = UInt8(exactly: table) ?? 252
        var bytes: [UInt8] =
            [family, length, 0, 0, shortTable, maker, 0, kind] + native(flags) + attribute(15, native(table))
        if let destination { bytes += attribute(1, IPAddress(destination)?.bytes ?? []) }
        if let gateway { bytes += attribute(5, IPAddress(gateway)?.bytes ?? []) }
        if let interface { bytes += attribute(4, native(interface)) }
        return bytes
    }
}

struct RouteMessageTests {
    private func read(_ bytes: [UInt8]) -> [RouteMessage] { RouteMessages(bytes).map(\.message) }

    @Test func `a datagram holds several messages, and those of other kinds are passed over`() {
        let bytes =
            RouteBytes.message(16, RouteBytes.link(2, flags: 0x1_0043))
            + RouteBytes.message(28, [1]) + RouteBytes.message(17, RouteBytes.link(3, flags: 0))
        #expect(
            read(bytes) == [
                .link(.init(index: 2, name: "eth0", isLoopback: false, isUp: true, isPort: false)), .linkGone(index: 3),
            ])
    }

    @Test func `a link is up when it is switched on and has a carrier`() {
        for (flags, isUp) in [(UInt32(0x1_0001), true), (1, false), (0x1_0000, false), (0, false)] {
            let link = RouteBytes.message(16, RouteBytes.link(2, flags: flags))
            #expect(read(link) == [.link(.init(index: 2, name: "eth0", isLoopback: false, isUp: isUp, isPort: false))])
        }
    }

    @Test func `replies to a dump are distinguished from news`() {
        let body = RouteBytes.link(2, flags: 1, name: "veth1", master: 7)
        let messages = Array(RouteMessages(RouteBytes.message(16, flags: 2, body) + RouteBytes.message(16, body)))
        #expect(messages.map(\.isDump) == [true, false])
        #expect(messages.first?.message == .link(.init(index: 2, name: "veth1", isUp: false, isPort: true)))
        #expect(read(RouteBytes.message(3, flags: 2, RouteBytes.native(UInt32(0)))) == [.dumpEnded])
    }

    @Test func `of a point-to-point link the address is our end`() {
        let bytes = RouteBytes.message(20, RouteBytes.address("10.0.0.2", local: "10.0.0.1"))
        #expect(read(bytes) == [.address(.init(index: 2, address: .v4(0x0a00_0001)), isGone: false)])
    }

    @Test(arguments: [
        RouteBytes.address("fe80::1", scope: 253), RouteBytes.address("169.254.3.4"),
        RouteBytes.address("127.0.0.1", scope: 254), RouteBytes.address("2001:db8::1", flags: 0x40),
        RouteBytes.address("2001:db8::1", flags: 0x08), RouteBytes.address("2001:db8::1", flags: 0x01),
    ])
    func `link-local, host, tentative, failed and temporary addresses do not last`(body: [UInt8]) {
        guard case .address(let address, isGone: false)? = read(RouteBytes.message(20, body)).first else {
            Issue.record("no address")
            return
        }
        #expect(!address.isLasting)
    }

    @Test func `a default route by DHCP is chosen, with its gateway`() throws {
        let network = try #require(AddressPrefix(.v4(0), length: 0))
        let bytes = RouteBytes.message(24, RouteBytes.route(gateway: "192.0.2.1"))
        #expect(
            read(bytes) == [
                .route(
                    .init(network: network, gateway: .v4(0xc000_0201), interface: 2, table: 254), isGone: false)
            ])
    }

    @Test(arguments: [
        RouteBytes.route(maker: 2), RouteBytes.route(maker: 1), RouteBytes.route(maker: 186), RouteBytes.route(kind: 2),
        RouteBytes.route(flags: 0x200), RouteBytes.route(to: "10.1.2.3", length: 32),
        RouteBytes.route(to: "fe80::", length: 64, family: 10), RouteBytes.route(to: "ff00::", length: 8, family: 10),
    ])
    func `routes of the kernel and of daemons, caches, single hosts and link-local ones are not`(body: [UInt8]) {
        guard case .route(let route, isGone: true)? = read(RouteBytes.message(25, body)).first else {
            Issue.record("no route")
            return
        }
        #expect(!route.isChosen)
    }

    @Test(arguments: [254, 1_000] as [UInt32]) func `a route is of a table, whatever its number is`(table: UInt32) {
        let bytes = RouteBytes.message(24, RouteBytes.route(table: table))
        guard case .route(let route, isGone: false)? = read(bytes).first else {
            Issue.record("no route")
            return
        }
        #expect(route.table == table)
    }

    @Test(arguments: [(2, 33), (2, 255), (10, 129)] as [(UInt8, UInt8)])
    func `a route whose prefix is longer than its address is no route`(family: UInt8, length: UInt8) {
        #expect(read(RouteBytes.message(24, RouteBytes.route(length: length, family: family))) == [])
    }

    @Test(arguments: [UInt32(0), 15, 17, 40, 0x7fff_ffff, .max])
    func `a wrong length ends the reading`(length: UInt32) {
        var bytes = RouteBytes.message(16, RouteBytes.link(2, flags: 1))
        bytes.replaceSubrange(0..<4, with: RouteBytes.native(length))
        var messages = RouteMessages(bytes)
        while messages.next() != nil {}
        #expect(messages.isBroken || length == 17 || length == 40)
    }

    @Test func `an error or an overrun breaks a datagram`() {
        for kind: UInt16 in [2, 4] {
            var messages = RouteMessages(RouteBytes.message(kind, [0, 0, 0, 0]))
            while let message = messages.next() { Issue.record("\(message)") }
            #expect(messages.isBroken)
        }
    }
}

struct NetworkStateTests {
    /// A state with a link `eth0` that has an address.
    private func state(_ name: String = "eth0", master: UInt32? = nil) -> NetworkState {
        var state = NetworkState()
        _ = feed(&state, 16, flags: 2, RouteBytes.link(2, flags: 0x1_0001, name: name, master: master))
        _ = feed(&state, 20, flags: 2, RouteBytes.address("192.0.2.7"))
        return state
    }

    private func feed(_ state: inout NetworkState, _ kind: UInt16, flags: UInt16 = 0, _ body: [UInt8]) -> Bool {
        var isChanged = false
        for (message, isDump) in RouteMessages(RouteBytes.message(kind, flags: flags, body)) {
            if state.take(message, isDump: isDump) != nil { isChanged = true }
        }
        return isChanged
    }

    @Test func `what is there at the start is no change`() {
        var state = NetworkState()
        #expect(!feed(&state, 16, flags: 2, RouteBytes.link(2, flags: 0x1_0001)))
        #expect(!feed(&state, 20, flags: 2, RouteBytes.address("192.0.2.7")))
    }

    @Test func `an address that comes or goes is a change; one that is reported again is not`() {
        var state = state()
        #expect(!feed(&state, 20, RouteBytes.address("192.0.2.7")))
        #expect(feed(&state, 20, RouteBytes.address("2001:db8::1")))
        #expect(!feed(&state, 20, RouteBytes.address("2001:db8::1")))
        #expect(feed(&state, 21, RouteBytes.address("192.0.2.7")))
        #expect(!feed(&state, 21, RouteBytes.address("192.0.2.7")))
    }

    @Test func `an IPv6 address counts once it is settled`() {
        var state = state()
        #expect(!feed(&state, 20, RouteBytes.address("2001:db8::1", flags: 0x40)))
        #expect(feed(&state, 20, RouteBytes.address("2001:db8::1")))
    }

    @Test func `a cable that is pulled and plugged in again is a change each time`() {
        var state = state()
        #expect(!feed(&state, 16, RouteBytes.link(2, flags: 0x1_0001)))
        #expect(feed(&state, 16, RouteBytes.link(2, flags: 1)))
        #expect(!feed(&state, 16, RouteBytes.link(2, flags: 1)))
        #expect(feed(&state, 16, RouteBytes.link(2, flags: 0x1_0001)))
    }

    @Test func `a link of ours without a carrier is dead, one without an address or of guests is not`() {
        var state = state()
        #expect(state.deadLinks.isEmpty)
        _ = feed(&state, 16, RouteBytes.link(2, flags: 1))
        _ = feed(&state, 16, RouteBytes.link(3, flags: 1, name: "wlan0"))
        _ = feed(&state, 16, RouteBytes.link(5, flags: 1, name: "docker0"))
        _ = feed(&state, 20, RouteBytes.address("172.17.0.1", index: 5))
        #expect(state.deadLinks == [2])
        _ = feed(&state, 16, RouteBytes.link(2, flags: 0x1_0001))
        #expect(state.deadLinks.isEmpty)
    }

    @Test func `a link without an address is none of ours`() {
        var state = state()
        #expect(!feed(&state, 16, RouteBytes.link(3, flags: 1, name: "wlan0")))
        #expect(!feed(&state, 16, RouteBytes.link(3, flags: 0x1_0001, name: "wlan0")))
        #expect(!feed(&state, 17, RouteBytes.link(3, flags: 0x1_0001, name: "wlan0")))
    }

    @Test(arguments: ["docker0", "br-0123456789ab", "virbr0", "cni0", "podman1", "lxdbr0"])
    func `containers that come and go change nothing`(bridge: String) {
        var state = state()
        #expect(!feed(&state, 16, RouteBytes.link(5, flags: 1, name: bridge)))
        #expect(!feed(&state, 20, RouteBytes.address("172.17.0.1", index: 5)))
        #expect(!feed(&state, 16, RouteBytes.link(6, flags: 0x1_0001, name: "veth8d1f", master: 5)))
        #expect(!feed(&state, 20, RouteBytes.address("fe80::42", index: 6, scope: 253)))
        #expect(!feed(&state, 16, RouteBytes.link(5, flags: 0x1_0001, name: bridge)))
        #expect(!feed(&state, 24, RouteBytes.route(to: "172.18.0.0", length: 16, maker: 3, interface: 5)))
        #expect(!feed(&state, 24, RouteBytes.route(to: "10.1.2.3", length: 32, maker: 3, interface: 9)))
        #expect(!feed(&state, 17, RouteBytes.link(6, flags: 0)))
    }

    @Test func `the bridge of a router's own network is like any link`() {
        var state = state("br-lan")
        #expect(feed(&state, 16, RouteBytes.link(2, flags: 1, name: "br-lan")))
    }

    @Test func `a route that comes, goes or has another metric is a change; one that is reported again is not`() {
        var state = state()
        let route = RouteBytes.route(gateway: "192.0.2.1")
        #expect(feed(&state, 24, route))
        #expect(!feed(&state, 24, route))
        #expect(feed(&state, 24, route + RouteBytes.attribute(6, RouteBytes.native(UInt32(100)))))
        #expect(feed(&state, 25, route))
    }

    @Test func `a route over several links, which has none of its own, counts as well`() {
        var state = state()
        #expect(feed(&state, 24, RouteBytes.route(interface: nil)))
    }

    @Test func `routes that went with their link are new when they are back`() {
        var state = state()
        let route = RouteBytes.route(gateway: "192.0.2.1")
        #expect(feed(&state, 24, route))
        #expect(feed(&state, 16, RouteBytes.link(2, flags: 0)))
        #expect(feed(&state, 24, route))
    }

    @Test func `routes and addresses of an interface that was removed are new when it is back`() {
        var state = state()
        let route = RouteBytes.route(gateway: "192.0.2.1")
        #expect(feed(&state, 24, route))
        _ = feed(&state, 17, RouteBytes.link(2, flags: 0))
        _ = feed(&state, 16, RouteBytes.link(2, flags: 0x1_0001))
        #expect(feed(&state, 20, RouteBytes.address("192.0.2.7")))
        #expect(feed(&state, 24, route))
    }

    @Test func `a storm of addresses takes bounded room`() {
        var state = state()
        let numbers = 0..<UInt32(NetworkState.limit + 100)
        for number in Array(numbers) + [numbers.upperBound - 1] {
            // The last one comes twice, since it was not remembered.
            let isNew = state.take(.address(.init(index: 2, address: .v4(number)), isGone: false), isDump: false)
            #expect(isNew != nil)
        }
    }
}

struct NetworkStockTests {
    /// A kernel with one address on a link, which runs one dump at a time, as Linux does.
    private final class Kernel {
        private var running: UInt16?
        /// What can be read.
        private(set) var sent: [[UInt8]] = []

        func ask(_ kind: UInt16) -> Bool {
            if running == nil {
                running = kind
            } else {
                sent.append(RouteBytes.message(2, RouteBytes.native(UInt32(16))))
            }
            return true
        }

        /// Goes on with the dump that runs.
        private func dump() {
            guard let kind = running else { return }
            running = nil
            sent.append(
                kind == 18
                    ? RouteBytes.message(16, flags: 2, RouteBytes.link(2, flags: 1))
                    : RouteBytes.message(20, flags: 2, RouteBytes.address("192.0.2.7")))
            sent.append(RouteBytes.message(3, flags: 2, RouteBytes.native(UInt32(0))))
        }

        /// What is read next; nil: nothing.
        func read() -> [UInt8]? {
            if sent.isEmpty { dump() }
            return sent.isEmpty ? nil : sent.removeFirst()
        }
    }

    /// - Parameter losses: after so many datagrams each, messages were lost.
    private func stock(losses: Set<Int>) -> NetworkStock {
        let kernel = Kernel()
        var stock = NetworkStock(ask: kernel.ask)
        stock.take()
        var count = 0
        while count < 100 {
            if losses.contains(count) { stock.take() }
            count += 1
            guard let datagram = kernel.read() else { break }
            _ = stock.take(datagram)
        }
        #expect(count < 100)
        return stock
    }

    @Test(arguments: [[], [0], [1], [2], [3], [4], [5], [0, 1], [1, 2, 3], [0, 2, 4, 6, 8]] as [Set<Int>])
    func `links and addresses are known in the end, whenever messages were lost`(losses: Set<Int>) {
        #expect(stock(losses: losses).state.deadLinks == [2])
    }

    @Test func `a dump that the kernel refuses is no reason not to ask for the other one, nor later for both`() {
        var asked: [UInt16] = []
        var isRefused = true
        var stock = NetworkStock {
            asked.append($0)
            return !isRefused
        }
        stock.take()
        isRefused = false
        stock.take()
        _ = stock.take(RouteBytes.message(2, RouteBytes.native(UInt32(12))))
        #expect(Array(asked.suffix(2)) == NetworkStock.kinds)
    }
}

struct SleepCountTests {
    @Test func `a long sleep is reported with its length, a short one and a set clock are not`() {
        var count = SleepCount(asleep: .seconds(100))
        let lengths = [100, 104, 3_704, 3_704, 3_709].map { count.take(asleep: .seconds($0)) }
        #expect(lengths == [nil, nil, .seconds(3_600), nil, .seconds(5)])
    }
}
