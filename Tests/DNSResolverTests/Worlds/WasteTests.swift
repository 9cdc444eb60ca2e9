import DNSCache
import DNSResolver
import DNSWire
import TestSupport
import TestUpstreams
import Testing

/// Worlds in which questions could be asked for nothing, from a question to its answer.
@Suite(.onLoop) struct WasteTests {
    /// The page has 1, then 2, then 5 s, where the world has 5 s (RFC 9520).
    @Test @Loop func `C2: a provider that fails a name which clients always ask for is asked after 1, 2 and 5 s`() async
    {
        let machine = Machine()
        _ = await machine.ask()
        await machine.clock.advance(by: .seconds(70))
        machine.vendor.behaviour = .failure(.responseCode(.serverFailure))
        machine.localDNS.behaviour = .failure(.responseCode(.serverFailure))
        let (began, asked) = (machine.clock.now, machine.vendor.asked.count)
        var times: [Duration] = []
        for _ in 0..<180 {
            let before = machine.vendor.asked.count
            let reply = await machine.ask()
            #expect(reply.has("192.0.2.1") && reply.isStale)
            if machine.vendor.asked.count > before { times.append(machine.clock.now - began) }
            await machine.clock.advance(by: .milliseconds(100))
        }
        #expect(times == [0, 1, 3, 8, 13].map { .seconds($0) })
        #expect(machine.vendor.asked.count == asked + times.count)
    }

    private static let flags = [(false, false), (true, false), (false, true), (true, true)]

    @Test @Loop func `one call is enough for clients with and without DO and CD where no service has signatures`() async
    {
        for first in 0..<4 {
            let machine = Machine()
            for (signed, checkingDisabled) in Self.flags[first...] + Self.flags[..<first] {
                for type in [RecordType.a, .aaaa] {
                    let reply = await machine.ask(
                        "www.example.com", type, signed: signed, checkingDisabled: checkingDisabled)
                    #expect(reply.has(type == .a ? "192.0.2.1" : "2001:db8::1"))
                }
            }
            #expect(machine.vendor.asked.count == 1)
        }
    }

    @Test @Loop func `a service that knows CD alone is asked apart for clients with CD, not for those with DO`() async {
        let machine = Machine(takesCheckingDisabled: true)
        for (signed, checkingDisabled) in Self.flags + Self.flags {
            _ = await machine.ask(signed: signed, checkingDisabled: checkingDisabled)
        }
        #expect(machine.vendor.asked.map(\.checkingDisabled) == [false, true])
        #expect(!machine.vendor.asked.contains { $0.dnssecOK })
    }

    @Test @Loop func `a service with signatures that is asked for other names costs a name no call`() async throws {
        let own = FakeProvider("own", addresses: [], anyType: true, names: [try Name("corp.example")])
        let machine = Machine(others: [own])
        for (signed, checkingDisabled) in Self.flags {
            let reply = await machine.ask(signed: signed, checkingDisabled: checkingDisabled)
            #expect(reply.has("192.0.2.1"))
        }
        #expect(machine.vendor.asked.count == 1)
    }

    @Test(arguments: [true, false]) @Loop
    func `from the second question with DO on, the UDP threads find a provider's answer, and none of LocalDNS`(
        isProvider: Bool
    ) async throws {
        let machine = Machine()
        if !isProvider { machine.vendor.behaviour = .failure(.network("cut")) }
        let question = Question(name: try Name("www.example.com"), type: .a)
        for _ in 0..<2 { #expect(await machine.ask(signed: true).has(isProvider ? "192.0.2.1" : "203.0.113.9")) }
        let key = QueryKey(question, dnssecOK: true, checkingDisabled: false)
        #expect((machine.memory.entry(for: key) != nil) == isProvider)
    }

    @Test @Loop func `where LocalDNS is asked first it is asked with DO for the clients that want signatures`() async {
        let machine = Machine(policy: RoutePolicy(mode: .localDNSFirst))
        _ = await machine.ask()
        let asked = machine.localDNS.asked.count
        _ = await machine.ask(signed: true)
        #expect(machine.localDNS.asked[asked...].allSatisfy(\.dnssecOK) && machine.localDNS.asked.count > asked)
    }
}
