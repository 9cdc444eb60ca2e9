import Configuration
import DNSResolver
import DNSWire
import Foundation
import Platform
import TestServers
import TestSupport
import Testing
import Upstreams

@testable import httpdnsd

/// What a reload takes over of the sources that were there.
@Suite(.onLoop, .timeLimit(.minutes(10))) struct CompositionTests {
    @Loop private func composition(of text: String, replacing old: Composition?) throws -> Composition {
        let loop = LoopRunner.shared.loop
        return Composition(
            try Configuration.parse(text: text).configuration, replacing: old, loop: loop,
            events: EventLog(LogRecorder().logger, clock: loop))
    }

    /// A composition with a forward for each of the suffixes, all to the same server.
    @Loop private func composition(_ suffixes: String..., replacing old: Composition? = nil) throws -> Composition {
        let forwards = suffixes.map { "[[forward]]\nsuffixes = [\"\($0)\"]\nservers = [\"127.0.0.1:9\"]\n" }
        return try composition(of: Patient.configuration + forwards.joined(), replacing: old)
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

    @Test @Loop func `the probes of providers go on under another policy, whose races wait for them`() throws {
        let old = try composition(of: Patient.configuration, replacing: nil)
        let new = try composition(of: Patient.configuration, replacing: old)
        #expect(new.probes === old.probes)
    }

    @Test @Loop func `the calls of a provider count on when it comes back, and once`() throws {
        let (with, other) = (Patient.configuration, Patient.configuration.replacing("139450", with: "139451"))
        let first = try composition(of: with, replacing: nil)
        let day = first.providers[0].upstream.account.count(.day).period
        let month = first.providers[0].upstream.account.count(.month).period
        first.providers[0].upstream.account.restore(
            CallQuota.Record(
                day: CallCount(period: day, calls: 7), month: CallCount(period: month, calls: 70), since: nil))
        let gone = try composition(of: other, replacing: first)
        #expect(gone.providers[0].upstream.account.count(.day).calls == 0)
        var back = try composition(of: with, replacing: gone)
        for timeout in ["", "timeout = \"900ms\"", ""] {
            let provider = back.providers[0].upstream
            #expect(provider.account.count(.day).calls == 7 && provider.account.count(.month).calls == 70)
            let text = with.replacing("account =", with: "\(timeout)\naccount =")
            back = try composition(of: text, replacing: back)
        }
    }

    @Test @Loop func `the names of an account count on when it comes back, or has a limit again`() throws {
        func settings(_ account: String) throws -> Configuration {
            let listen = "[listen]\nhttpdns = [\"127.0.0.1:8081\"]\n"
            return try Configuration.parse(
                text: Patient.configuration.replacing("[listen]\n", with: listen) + account
            ).configuration
        }
        let limited = try settings("[[account]]\nid = \"100001\"\ndaily_limit = 2\n")
        let events = EventLog(LogRecorder().logger, clock: LoopRunner.shared.loop)
        let made = VendorAccounts(limited, isPublic: { _ in true }, events: events)
        let accounts = try #require(made)
        let now = Int64(Date().timeIntervalSince1970)
        #expect(accounts.take(2, of: "100001", at: now))
        for other in ["", "[[account]]\nid = \"100001\"\n", "[[account]]\nid = \"100002\"\n"] {
            accounts.take(try settings(other))
            #expect(accounts.take(1, of: "100001", at: now))
            accounts.take(limited)
            #expect(!accounts.take(1, of: "100001", at: now))
        }
    }
}
