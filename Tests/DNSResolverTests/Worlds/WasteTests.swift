import DNSWire
import Scheduling
import TestSupport
import TestUpstreams
import Testing

/// Worlds in which questions could be asked for nothing, from a question to its answer.
@Suite(.onLoop)
struct WasteTests {
    /// The page has 1, then 2, then 5 s, where the world has 5 s (RFC 9520).
    @Test @Loop func `C2: a provider that fails a name which clients ask for all the time is asked after 1, 2 and 5 s`()
        async
    {
        let machine = ResolverTests.Machine()
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
}
