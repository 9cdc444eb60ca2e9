import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// The story of an answer.
@Suite(.onLoop) struct TraceTests {
    /// The steps of a traced question for A, each as its kind and text.
    @Loop private func trace(_ machine: Machine, _ name: String = "www.example.com") async -> [String] {
        var steps: [Trace.Step]?
        let question = Question(name: (try? Name(name)) ?? .root, type: .a)
        Loop.spawn { steps = await machine.resolver.trace(question).trace.steps }
        for _ in 0..<50 where steps == nil { await machine.clock.advance(by: .milliseconds(100)) }
        return (steps ?? []).map { "\($0.kind): \($0.text)" }
    }

    @Test @Loop func `it tells the route, the cache, the request, the reply, what is taken and for how long`() async {
        #expect(
            await trace(Machine()) == [
                "route: protect: no list has it", "cache: A is not cached",
                "ask: vendor at vendor is asked for A and AAAA",
                "reply: vendor at vendor after 0 ms: A: 192.0.2.1, TTL 60; AAAA: 2001:db8::1, TTL 60",
                "decide: A: 192.0.2.1, TTL 60, from provider vendor", "keep: A is cached for 60 s",
                "decide: AAAA: 2001:db8::1, TTL 60, from provider vendor", "keep: AAAA is cached for 60 s",
                "answer: NOERROR, 192.0.2.1, TTL 60; source=provider provider=vendor",
            ])
    }

    @Test @Loop func `of a cached answer it tells the origin, and that no source is asked`() async {
        let machine = Machine()
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(12))
        #expect(
            await trace(machine).suffix(2) == [
                "cache: type=A route=protect source=provider provider=vendor server=vendor state=fresh age=12 ttl=48: used",
                "answer: NOERROR, 192.0.2.1, TTL 48; source=cache",
            ])
    }

    @Test @Loop func `of a name that LocalDNS has it tells the question to LocalDNS, and its reply`() async throws {
        #expect(
            await trace(Machine(policy: RoutePolicy(bypass: [try Name("example.com")]))) == [
                "route: bypass: route.bypass has example.com", "cache: A is not cached",
                "ask: localdns is asked for A", "reply: localdns (): A: 203.0.113.9, TTL 60",
                "decide: A: 203.0.113.9, TTL 60, from localdns", "keep: A is cached for 60 s",
                "answer: NOERROR, 203.0.113.9, TTL 60; source=localdns",
            ])
    }

    @Test @Loop func `of a fallback it tells when LocalDNS is asked, its reply, and what certificates say of it`() async
    {
        let machine = Machine(check: .auto)
        machine.vendor.behaviour = .silence
        machine.handshake.servers["203.0.113.9"] = .honest
        let steps = await trace(machine)
        for step in [
            "ask: localdns is asked for A", "reply: localdns (): A: 203.0.113.9, TTL 60",
            "check: 203.0.113.9 shows a certificate of the name",
            "decide: A: 203.0.113.9, TTL 60, from localdns_verified", "keep: A is cached for 30 s",
        ] {
            #expect(steps.contains(step), "\(step)")
        }
    }

    @Test @Loop func `of a name that does not exist it tells the response code, once`() async throws {
        let machine = Machine(policy: RoutePolicy(bypass: [try Name("example.com")]))
        machine.localDNS.behaviour = .denial()
        #expect(await trace(machine).last == "answer: NXDOMAIN; source=localdns")
    }

    @Test @Loop func `of a forged answer it tells the certificate, and why the client gets none`() async {
        let machine = Machine(check: .auto)
        machine.vendor.behaviour = .failure(.network("refused"))
        for address in ["203.0.113.9", "2001:db8::9"] { machine.handshake.servers[address] = .hijacker }
        let steps = await trace(machine)
        #expect(steps.contains("reply: vendor at vendor after 0 ms: A: refused; AAAA: refused"))
        #expect(steps.contains("check: 203.0.113.9 is another's by the certificates that it shows: forged"))
        #expect(steps.last?.hasPrefix("answer: SERVFAIL (") == true)
    }

    @Test @Loop func `a question that joins another client's says so`() async {
        let machine = Machine()
        machine.vendor.behaviour = .silence
        machine.start()
        #expect(
            await trace(machine).contains(
                "ask: another client's question for the name is under way: its result is awaited"))
    }

    @Test(arguments: [
        ("printer.lan", "bypass: lan belongs to the network (route.network_names)"),
        ("www.intern.example", "bypass: route.bypass has intern.example"),
        ("www.nowhere.example", "protect: no list has it"),
        ("host", "bypass: a single label does not leave the network"),
    ]) @Loop
    func `a route comes with the list and the suffix that decide it`(name: String, text: String) async throws {
        let machine = Machine(policy: RoutePolicy(bypass: [try Name("intern.example")]))
        #expect(await trace(machine, name).first == "route: " + text)
    }

    @Test(arguments: [
        ("localhost", "answered here: a special-use name"),
        ("static.example", "answered here: a preset has static.example (static.example)"),
        ("x.wild.example", "answered here: a preset has *.wild.example (*.wild.example)"),
        ("www.intern.example", "bypass: route.bypass has intern.example (bypass intern.example)"),
        ("printer.lan", "bypass: lan belongs to the network (route.network_names)"),
    ]) @Loop
    func `the entry that decides comes with its place in the configuration, if that has it`(
        name: String, text: String
    ) async throws {
        var presets = Presets()
        presets.add(try Name("static.example"), addresses: [.v4(1)])
        presets.add(try Name("wild.example"), isWildcard: true, addresses: [.v4(2)])
        let machine = Machine(
            policy: RoutePolicy(bypass: [try Name("intern.example")]), local: LocalAnswers(presets: presets))
        machine.resolver.placeOfRule = { rule in
            switch rule {
            case .preset(let name, let isWildcard): isWildcard ? "*.\(name)" : "\(name)"
            case .bypass(let name): "bypass \(name)"
            default: nil
            }
        }
        #expect(await trace(machine, name).first == "route: " + text)
    }

    @Test @Loop func `however many addresses are forged, a trace has an end`() async {
        let trace = Trace(clock: ManualClock())
        for number in 0..<1_000 { trace.add(.check, "\(number)") }
        #expect(trace.steps.count == Trace.limit)
    }

    @Test(arguments: [
        ("www.example.com", "bypass: HTTPDNS is switched off; else protect: the names of a provider have example.com"),
        ("shop.example.com", "bypass: HTTPDNS is switched off; else protect: route.protect has shop.example.com"),
        ("www.intern.example", "bypass: route.bypass has intern.example"),
        ("www.nowhere.example", "bypass: no provider has it among its names"),
    ]) @Loop
    func `while HTTPDNS is switched off that is the reason for the names that it would answer, and for no other`(
        name: String, text: String
    ) async throws {
        let machine = Machine(
            policy: RoutePolicy(
                protect: [try Name("shop.example.com")], protectsUnlisted: true, bypass: [try Name("intern.example")],
                providers: [[try Name("example.com")]]))
        machine.resolver.turn(on: false)
        #expect(await trace(machine, name).first == "route: " + text)
    }

    @Test(arguments: [
        (Mode.localDNSOnly, "bypass: route.protect has shop.example.com, and LocalDNS alone is asked (route.mode)"),
        (
            .httpdnsFirst,
            "bypass: route.protect has shop.example.com, and no provider has it among its names"
        ),
    ]) @Loop
    func `a protected name that no provider is asked for comes with the true reason`(
        mode: Mode, text: String
    ) async throws {
        let machine = Machine(
            policy: RoutePolicy(
                mode: mode, protect: [try Name("shop.example.com")], providers: [[try Name("example.org")]]))
        #expect(await trace(machine, "shop.example.com").first == "route: " + text)
    }
}
