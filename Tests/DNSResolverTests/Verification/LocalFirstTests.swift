import DNSWire
import Scheduling
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// `localdns-first` is to pay only while LocalDNS lies.
@Suite(.onLoop) struct LocalFirstTests {
    private static let names = 1_000

    /// Each of so many names is LocalDNS's if its number is not forged, and costs a call if it is.
    @Test(arguments: [0, 2, 1]) @Loop
    func `of 1,000 names a forged one is a call, an honest one none, and no client gets a forged address`(
        forgedOfEach: Int
    ) async {
        let machine = Machine(policy: RoutePolicy(mode: .localDNSFirst), check: .auto)
        machine.vendor.behaviour = .addresses("192.0.2.1", after: .milliseconds(40))
        var (wrong, forged) = (0, 0)
        var honest: [Duration] = []
        for number in 0..<Self.names {
            let address = "10.\(number / 250).\(number % 250).1"
            let isForged = forgedOfEach > 0 && number.isMultiple(of: forgedOfEach)
            machine.localDNS.behaviour = .addresses(address, after: .milliseconds(20), ttl: 60)
            machine.handshake.servers[address] = .init(
                isForged ? FakeHandshake.Server.hijacker.outcome : .verified, after: .milliseconds(60))
            let reply = machine.start("n\(number).example.com", .a)
            for _ in 0..<20 where reply.response == nil { await machine.clock.advance(by: .milliseconds(10)) }
            if !reply.has(isForged ? "192.0.2.1" : address) { wrong += 1 }
            if isForged { forged += 1 } else { honest.append(reply.waited ?? .seconds(9)) }
        }
        #expect(wrong == 0)
        #expect(machine.vendor.asked.count == forged)
        // The look-up and the handshake.
        #expect(honest.allSatisfy { $0 == .milliseconds(80) })
    }
}
