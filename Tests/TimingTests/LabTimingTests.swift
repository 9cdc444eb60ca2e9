import Foundation
import TestServers
import TestSupport
import Testing

@testable import IntegrationTests

extension Timing {
    /// Outages in a small internet: how late answers come meanwhile, and how soon they are right afterwards.
    @Suite(.requires(.networkNamespaces), .inLab)
    struct LabTimingTests {
        private let session: LabSession
        private var lab: Lab { session.lab }

        init() throws { session = try #require(LabSession.current) }

        @Test(arguments: Outage.all)
        func `when HTTPDNS is cut off answers come within 2.5 s, and once it is back all are right within 6 s`(
            kind: Outage.Kind
        ) throws {
            let outage = try Outage(kind, in: lab)
            let slowest = (outage.warm + outage.cold).map(\.lookup.time).max()
            #expect(try #require(slowest) < Timing.promised)
            if kind.hijacker == nil {
                #expect(outage.cold.count(.right) * 1_000 >= outage.cold.count * 999, "\(outage.cold.tally)")
            } else {
                #expect(try #require(outage.recovery.warm) < .seconds(6))
                #expect(try #require(outage.recovery.cold) < .seconds(6))
            }
        }

        @Test func `when HTTPDNS is back a name asked for alone is right within 6 seconds`() throws {
            let time = try recovery(cut: { try lab.cutHTTPDNS(.drop) }, restore: { try lab.cutHTTPDNS(nil) })
            #expect(time < .seconds(6))
        }

        @Test(arguments: Lab.LinkFailure.allCases)
        func `when the link is back a name asked for alone is right within 1.5 seconds`(failure: Lab.LinkFailure) throws
        {
            // Until the kernel has given up the packets that were under way when the link failed, and the neighbour
            // entry with them: after that it looks for the neighbour again only if we send something.
            let time = try recovery(
                chatter: .seconds(7),
                cut: { try lab.cutLink(failure) }, restore: { try lab.restoreLink(failure) })
            #expect(time < .seconds(1.5))
        }

        @Test(arguments: Lab.LinkFailure.allCases, [1, 4])
        func `when the link is back after a short outage a name asked for alone is right within 1.5 seconds`(
            failure: Lab.LinkFailure, seconds: Int
        ) throws {
            let time = try recovery(
                lasting: .seconds(seconds),
                cut: { try lab.cutLink(failure) }, restore: { try lab.restoreLink(failure) })
            #expect(time < .seconds(1.5))
        }

        /// The time from the end of an outage, during which LocalDNS is hijacked, until the only name asked for is
        /// right.
        ///
        /// - Parameters:
        ///   - lasting: the length of the outage; nil: until HTTPDNS has failed so often that its backoff is the
        ///     longest possible.
        ///   - chatter: for how long clients go on asking once the outage counts as long: at its end the kernel may be
        ///     at any point of its search for neighbours.
        private func recovery(
            lasting: Duration? = nil, chatter: Duration = .zero, cut: () throws -> Void, restore: () throws -> Void
        ) throws -> Duration {
            try lab.hijack(.wrongCertificate)
            defer { try? lab.hijack(nil) }
            let daemon = try lab.startDaemon()
            // One each 100 ms, for up to 20 s.
            let names = try lab.newNames(lasting == nil ? 400 : 80)
            let client = try lab.machine.namespace.inside { try daemon.client() }
            try #require(try client.ask(names[0].text).addresses == [names[0].address(RecordType.a)])
            try cut()
            let end = ContinuousClock.now + (lasting ?? .seconds(20))
            var asked = 1
            var longEnough: ContinuousClock.Instant?
            while ContinuousClock.now < longEnough ?? end {
                try #require(asked < names.count)
                try client.send(.query(names[asked].text))
                asked += 1
                let next = ContinuousClock.now + .milliseconds(100)
                while try client.receiveIfAny(within: max(.zero, next - .now)) != nil {}
                if lasting == nil, longEnough == nil, try failures(daemon) >= 5 { longEnough = .now + chatter }
            }
            try #require(lasting != nil || longEnough != nil)
            try restore()
            let start = Stopwatch()
            let name = names[asked - 1]
            // A question each 50 ms, whether or not earlier ones are answered: the daemon is measured, not the client's
            // retries.
            while start.fair < .patience {
                try client.send(.query(name.text))
                let next = ContinuousClock.now + .milliseconds(50)
                while let reply = try client.receiveIfAny(within: max(.zero, next - .now)) {
                    if reply.message.addresses == [name.address(RecordType.a)] { return start.fair }
                }
            }
            throw TestFailure("\(name.text) is never right")
        }

        /// The number of requests to HTTPDNS that have failed.
        private func failures(_ daemon: Daemon) throws -> Int {
            let outcome = try Daemon.run(["status", "--config", daemon.configurationFile, "--json"])
            let status = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
            let provider = try #require((status?["providers"] as? [[String: Any]])?.first)
            let address = try #require((provider["addresses"] as? [[String: Any]])?.first)
            return address["failures"] as? Int ?? 0
        }
    }
}
