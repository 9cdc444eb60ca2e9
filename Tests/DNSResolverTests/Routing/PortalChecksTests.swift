import DNSCache
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// The names that systems ask for to detect a captive portal.
@Suite(.onLoop) struct PortalChecksTests {
    private static let check = "captive.apple.com"
    /// The address to which the network redirects everything until its user has logged in; its certificate is its own.
    private static let portal = "203.0.113.9"

    @Loop private func machine(mode: Mode = .httpdnsFirst) -> Machine {
        let machine = Machine(policy: RoutePolicy(mode: mode), check: .auto)
        machine.handshake.servers[Self.portal] = .hijacker
        machine.localDNS.behaviour = .addresses(Self.portal, ttl: 600)
        return machine
    }

    @Test(arguments: [Mode.httpdnsFirst, .localDNSFirst]) @Loop
    func `the portal's address is given for 10 s, and is no evidence against the network`(mode: Mode) async {
        let machine = machine(mode: mode)
        let reply = await machine.ask(Self.check)
        #expect(reply.has(Self.portal) && reply.packed?.longestTTL == 10)
        #expect(machine.vendor.asked.isEmpty && machine.handshake.attempts.isEmpty)
        #expect(machine.checks.journal.total == 0 && machine.events.isEmpty)
    }

    @Test @Loop func `other names are protected from the portal as from any forger`() async {
        let machine = machine()
        machine.vendor.behaviour = .failure(.network("refused"))
        #expect(await machine.ask("www.apple.com").failure == .serverFailure)
        #expect(machine.checks.journal.total == 1)
    }

    @Test @Loop
    func `once its user has logged in, LocalDNS is asked again, and the portal's address is not served stale`() async {
        let machine = machine()
        _ = await machine.ask(Self.check)
        await machine.clock.advance(by: .seconds(10))
        machine.localDNS.behaviour = .addresses("198.51.100.7")
        #expect(await machine.ask(Self.check).has("198.51.100.7"))
        await machine.clock.advance(by: .seconds(10))
        machine.failEverything()
        #expect(await machine.ask(Self.check).failure == .serverFailure)
    }

    @Test @Loop func `B11: where LocalDNS does not answer, HTTPDNS does`() async {
        let machine = machine()
        machine.localDNS.behaviour = .failure(.network("unreachable"))
        let reply = await machine.ask(Self.check)
        #expect(reply.has("192.0.2.1") && reply.packed?.longestTTL == 10)
    }

    @Test @Loop func `httpdns-only never asks LocalDNS, and localdns-only no provider`() async {
        let first = machine(mode: .httpdnsOnly)
        #expect(await first.ask(Self.check).has("192.0.2.1") && first.localDNS.asked.isEmpty)
        let second = machine(mode: .localDNSOnly)
        second.localDNS.behaviour = .failure(.network("unreachable"))
        #expect(await second.ask(Self.check).failure == .serverFailure && second.vendor.asked.isEmpty)
    }

    @Test func `a list of the configuration that names a check, or a parent of it, goes first`() throws {
        let check = try Name(Self.check)
        #expect(RoutePolicy().route(for: check) == .portal)
        for name in [check, try Name("apple.com"), .root] {
            let protected = RoutePolicy(protect: [name]).route(for: check)
            #expect(protected == (name.isRoot ? .portal : .protect(explicit: true)))
            #expect(RoutePolicy(bypass: [name]).route(for: check) == .bypass)
            #expect(RoutePolicy(forward: [[name]]).route(for: check) == .forward(index: 0))
            #expect(RoutePolicy(providers: [[name], []]).route(for: check) == .protect(explicit: true))
        }
    }

    @Test func `what no provider may answer is LocalDNS's alone`() throws {
        let (check, other) = (try Name(Self.check), try Name("example.com"))
        #expect(RoutePolicy(protect: [other]).route(for: check) == .bypass)
        #expect(RoutePolicy(providers: [[other]]).route(for: check) == .bypass)
        #expect(RoutePolicy(mode: .localDNSOnly).route(for: check) == .bypass)
    }

    @Test(arguments: PortalChecks.names) func `each name of the list is one, and the names around it are not`(
        name: Name
    )
        throws
    {
        #expect(RoutePolicy().route(for: name) == .portal)
        let labels = name.description.split(separator: ".")
        let beside = try Name((["beside"] + labels.dropFirst()).joined(separator: "."))
        #expect(RoutePolicy().route(for: beside) == .protect(explicit: false))
    }
}
