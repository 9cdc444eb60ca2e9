import Configuration
import DNSResolver
import DNSWire
import Logs
import Scheduling
import TestSupport
import Testing
import Upstreams

@testable import httpdnsd

/// What a reload takes over of the sources that were there.
@Suite(.onLoop, .timeLimit(.minutes(10)))
struct CompositionTests {
    /// A composition with a forward for each of the suffixes, all to the same server.
    @Loop
    private func composition(_ suffixes: String..., replacing old: Composition? = nil) throws -> Composition {
        let forwards = suffixes.map { "[[forward]]\nsuffixes = [\"\($0)\"]\nservers = [\"127.0.0.1:9\"]\n" }
        let settings = try Configuration.parse(text: Patient.configuration + forwards.joined()).configuration
        let loop = LoopRunner.shared.loop
        let composition = Composition(
            settings, replacing: old, loop: loop, events: EventLog(LogRecorder().logger, clock: loop))
        composition.findLoops(with: LoopProbes())
        return composition
    }

    @Test @Loop func `a forward that has not changed goes on with the health of its servers`() throws {
        let old = try composition("a.example", "b.example")
        let new = try composition("b.example", "a.example", replacing: old)
        #expect(new.forwarders[0] === old.forwarders[1] && new.forwarders[1] === old.forwarders[0])
    }

    @Test @Loop func `a forward with another suffix starts again, and its servers are probed below that`() throws {
        let old = try composition("crop.example")
        let new = try composition("corp.example", replacing: old)
        #expect(new.forwarders[0] !== old.forwarders[0])
        #expect(new.forwarders.map(\.zone) == [try Name("corp.example")])
    }

    @Test @Loop func `each of two forwards to one server is probed below its own suffix`() throws {
        let old = try composition("a.example")
        let new = try composition("b.example", "a.example", replacing: old)
        #expect(new.forwarders[0] !== new.forwarders[1])
        #expect(new.forwarders.map(\.zone) == [try Name("b.example"), try Name("a.example")])
    }
}
