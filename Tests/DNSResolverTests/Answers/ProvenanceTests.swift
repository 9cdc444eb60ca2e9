import DNSCache
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// `dig why.NAME CH TXT`.
@Suite(.onLoop) struct ProvenanceTests {
    /// The answer to `why.NAME`, one line for each record but the first, which says what decides.
    @Loop private func why(_ name: String, _ machine: Machine) async -> [String] {
        Array(lines(ask(name, machine)).dropFirst())
    }

    @Loop private func ask(_ name: String, _ machine: Machine, from client: IPAddress = .v4(0x7f00_0001)) -> Response? {
        let question = Question(name: (try? Name("why." + name)) ?? .root, type: .txt, class: .chaos)
        let client = ClientQuestion(question: question, client: client, arrived: machine.clock.now)
        var response: Response?
        machine.resolver.respond(to: client) { response = $0 }
        return response
    }

    private func lines(_ response: Response?) -> [String] {
        guard case .answer(let packed, _)? = response?.content else { return [] }
        let question = Question(name: .root, type: .txt, class: .chaos)
        return packed.unpacked(for: question)?.answers.map { String(decoding: $0.rdata.dropFirst(), as: UTF8.self) }
            ?? []
    }

    @Test(arguments: [
        ("www.example.com", "decision=protect: no list has it"),
        ("www.lan.example", "decision=bypass: route.bypass has lan.example (t.toml:7)"),
        ("localhost", "decision=answered here: a special-use name"),
    ]) @Loop
    func `first it says what decides about the name, with the line of the file`(
        name: String, line: String
    ) async throws {
        let machine = Machine(policy: RoutePolicy(bypass: [try Name("lan.example")]))
        machine.resolver.placeOfRule = { _ in "t.toml:7" }
        #expect(lines(ask(name, machine)).first == line)
        #expect(machine.vendor.asked.isEmpty && machine.localDNS.asked.isEmpty)
    }

    @Test(arguments: ["192.0.2.7", "2001:db8::7", "10.0.0.1"]) @Loop
    func `other machines learn nothing of it`(client: String) async throws {
        let machine = Machine()
        _ = await machine.ask()
        let response = ask("www.example.com", machine, from: try #require(IPAddress(client)))
        #expect(response?.responseCode == .refused && lines(response).isEmpty)
        #expect(lines(ask("www.example.com", machine, from: .v6(1))).count == 3)
    }

    @Test @Loop func `it shows the route, provider, service address, age and what is left`() async {
        let machine = Machine()
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(12))
        #expect(
            await why("www.example.com", machine) == [
                "type=A route=protect source=provider provider=vendor server=vendor state=fresh age=12 ttl=48",
                "type=AAAA route=protect source=provider provider=vendor server=vendor state=fresh age=12 ttl=48",
            ])
    }

    @Test @Loop func `a type that goes another way than the name's addresses is shown by its own`() async throws {
        let machine = Machine()
        let type = try #require(RecordType("NS"))
        let record = Record(name: try Name("com"), type: type, ttl: 60, rdata: try Name("ns.example").wire)
        machine.localDNS.behaviour = .reply(after: .zero, [type: .answer(Answer(answers: [record]))])
        _ = await machine.ask("com", type)
        let line = try #require(await why("com", machine).first)
        #expect(line.hasPrefix("type=NS route=protect") && line.contains("state=fresh"))
    }

    @Test @Loop func `it shows why a question failed last, also once it may be asked again`() async {
        let machine = Machine()
        machine.vendor.behaviour = .failure(.network("refused"))
        machine.localDNS.behaviour = .failure(.network("no route"))
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(12))
        let line = await why("www.example.com", machine).first
        #expect(line?.hasPrefix("type=A route=protect source=none state=failed age=1") == true, "\(line ?? "")")
        #expect(line?.contains("reason=") == true && line?.contains("refused") == true, "\(line ?? "")")
    }

    @Test(arguments: [
        (FakeHandshake.Server.honest, "source=localdns_verified"),
        (.refusing, "source=localdns_unverified"),
    ]) @Loop
    func `for LocalDNS's addresses of a protected name it shows the result of their certificates`(
        server: FakeHandshake.Server, words: String
    ) async throws {
        let machine = Machine(check: .lenient)
        machine.localDNS.behaviour = .addresses("203.0.113.9")
        machine.handshake.servers["203.0.113.9"] = server
        machine.vendor.behaviour = .failure(.network("refused"))
        _ = await machine.ask()
        let line = try #require(await why("www.example.com", machine).first)
        #expect(line.hasPrefix("type=A route=protect \(words) state=fresh"))
    }

    @Test @Loop func `of a wrong certificate it shows the address, how often it was seen and why it is refused`() async
    {
        let machine = Machine(check: .lenient)
        machine.localDNS.behaviour = .addresses("203.0.113.9")
        machine.handshake.servers["203.0.113.9"] = .hijacker
        machine.vendor.behaviour = .failure(.network("refused"))
        #expect(await machine.ask().failure == .serverFailure)
        #expect(
            await why("www.example.com", machine).last
                == "check=wrong-certificate address=203.0.113.9 port=443 seen=1 "
                + "reason=the certificate is for another name: subject CN=hijacker")
        #expect(await why("other.example.com", machine) == ["route=protect state=not-cached"])
    }

    @Test @Loop func `an answer past its TTL is called stale`() async {
        let machine = Machine()
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(100))
        #expect(
            await why("www.example.com", machine).first
                == "type=A route=protect source=provider provider=vendor server=vendor state=stale age=100")
    }

    @Test @Loop func `what the present policy does not serve is called unusable`() async {
        let machine = Machine()
        _ = await machine.ask()
        machine.resolver.turn(on: false)
        #expect(await why("www.example.com", machine).first?.contains("route=bypass") == true)
        #expect(await why("www.example.com", machine).first?.contains("state=unusable") == true)
    }

    @Test @Loop func `a name that is answered here is said to be`() async {
        #expect(await why("localhost", Machine()) == ["source=rule state=answered-here"])
    }

    @Test @Loop func `the reason of a stale answer shows which source gave it, and when`() async {
        let machine = Machine()
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(100))
        machine.failEverything()
        #expect(await machine.ask().response?.extendedError?.text == "answered by vendor 100 s ago")
    }

    @Test(arguments: [Source.localDNS, .verifiedLocalDNS]) @Loop
    func `the reason of a stale answer of LocalDNS does not show its address`(source: Source) async throws {
        let name = try Name("www.example.com")
        let machine = Machine(policy: RoutePolicy(bypass: NameList([name])))
        machine.failEverything()
        let key = machine.resolver.flights.key(name, .a)
        let answer = Answer(name: name, addresses: [.v4(0xcb00_7109)], ttl: 60)
        _ = machine.store.keep(answer, for: key, .a, source, "192.168.1.1:53")
        await machine.clock.advance(by: .seconds(100))
        #expect(await machine.ask().response?.extendedError?.text == "answered by LocalDNS 100 s ago")
    }

    @Test func `a text longer than a string is cut into several`() {
        let record = Record.chaosText(String(repeating: "x", count: 300), name: .root)
        #expect(record.rdata.count == 302)
        #expect(record.rdata[0] == 255 && record.rdata[256] == 45)
    }

    @Test @Loop func `servers retain their numbers, and too many have none`() {
        let names = ServerNames()
        #expect(names.number(of: "") == 0)
        let first = names.number(of: "192.0.2.1:443")
        #expect(names.number(of: "192.0.2.1:443") == first && names.name(of: first) == "192.0.2.1:443")
        for number in 2...65_535 { _ = names.number(of: "\(number)") }
        #expect(names.number(of: "one too many") == 0 && names.name(of: 0).isEmpty)
        #expect(names.name(of: .max) == "65535")
    }

    /// Whether each cached answer for A may be used.
    @Loop private func usable(_ machine: Machine) async -> [Bool] {
        await machine.store.walks.answers(from: .start, limit: .max, where: { _ in true }).answers
            .filter { $0.type == .a }.map { machine.resolver.provenance.isUsable($0) }
    }

    @Test @Loop func `an answer that another policy decided is not usable, and the one of this policy is`() async throws
    {
        let machine = Machine(policy: RoutePolicy(mode: .localDNSFirst))
        _ = await machine.ask()
        #expect(await usable(machine) == [true])
        machine.resolver.turn(on: false)
        #expect(await usable(machine) == [false])
        machine.resolver.turn(on: true)
        _ = await machine.ask()
        #expect(await usable(machine) == [true])
    }

    @Test @Loop
    func `where a name is answered here, the answer made here is usable, and that of a source is not`() async throws {
        let name = try Name("static.example")
        var presets = Presets()
        presets.add(name, addresses: [.v4(1)])
        let machine = Machine(local: LocalAnswers(presets: presets))
        _ = await machine.ask("static.example")
        #expect(await usable(machine) == [true])
        let answer = Answer(name: name, addresses: [.v4(2)], ttl: 60)
        _ = machine.store.keep(
            answer, for: machine.resolver.flights.key(name, .a), .a, .provider(index: 0), "vendor")
        #expect(await usable(machine) == [false])
    }
}
