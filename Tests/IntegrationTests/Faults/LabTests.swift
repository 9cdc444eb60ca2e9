import Foundation
import TestServers
import TestSupport
import Testing

extension Integration {
    /// The whole program in a small internet of its own: `Lab` describes its hosts, `Outage` what is done to it.
    @Suite(.requires(.networkNamespaces), .inLab)
    struct LabTests {
        private let session: LabSession
        private var lab: Lab { session.lab }

        init() throws { session = try #require(LabSession.current) }

        /// Each name with both address types.
        private func questions(_ names: [LabName]) -> [LabLookup.Question] {
            names.flatMap { [.init(name: $0, type: RecordType.a), .init(name: $0, type: RecordType.aaaa)] }
        }

        /// Asks a server for names, over both transports.
        private func ask(_ server: TestAddress, _ names: [LabName], from source: String? = nil) throws -> [LabLookup] {
            try BulkClient.Transport.allCases.flatMap { transport in
                let client = try BulkClient(server, over: transport, from: source, namespace: lab.machine.namespace)
                return try LabLookup.ask(questions(names), client)
            }
        }

        private func curl(_ name: LabName, _ resolver: String, _ family: String, limit: String = "60") throws
            -> ChildProcess.Outcome
        {
            try lab.machine.run(
                [
                    "curl", family, "--silent", "--show-error", "--noproxy", "*", "--max-time", limit, "--cacert",
                    lab.certificates.authority, "https://\(name.text)/",
                ], resolvConf: "nameserver \(resolver)\n")
        }

        private func getent(_ name: LabName, _ resolver: String, _ database: String = "ahostsv4") throws -> String? {
            try lab.machine.run(["getent", database, name.text], resolvConf: "nameserver \(resolver)\n")
                .lines.first?.split(separator: " ").first.map(String.init)
        }

        private func dig(_ server: TestAddress, _ name: LabName, _ type: String, _ options: String...) throws -> Dig {
            try Dig(server, name.text, type, options, namespace: lab.machine.namespace)
        }

        // The lab itself.

        @Test(arguments: [(Lab.Hijacker.wrongCertificate, Int32(60)), (.refusing, 7), (.silent, 28)])
        func `through a router that hijacks port 53 every answer is wrong, and curl finds no right certificate`(
            hijacker: Lab.Hijacker, status: Int32
        ) throws {
            try lab.hijack(hijacker)
            defer { try? lab.hijack(nil) }
            let lookups = try ask(Lab.resolver, lab.newNames(25), from: "0.0.0.0")
            #expect(lookups.tally == [.wrong: 100])
            for family in ["-4", "-6"] {
                let limit = hijacker == .silent ? "0.5" : "60"
                let outcome = try curl(LabName.shop, Lab.resolver.host, family, limit: limit)
                #expect(outcome.status == status, "\(outcome.errors)")
            }
        }

        // HTTPDNS works.

        /// With HTTPDNSD_THOROUGH 10,000 look-ups.
        @Test func `with HTTPDNS none of many look-ups is wrong or unanswered, whatever LocalDNS answers`() throws {
            try lab.hijack(.wrongCertificate)
            defer { try? lab.hijack(nil) }
            let daemon = try lab.startDaemon()
            let names = try lab.newNames(Integration.isThorough ? 2_500 : 500)
            // Each half is asked for over one transport first and then over the other one.
            let halves = [names.prefix(names.count / 2), names.suffix(names.count / 2)].map { questions(Array($0)) }
            var lookups: [LabLookup] = []
            for order in [halves, halves.reversed()] {
                for ((transport, address), half) in zip(zip(BulkClient.Transport.allCases, daemon.addresses), order) {
                    let client = try BulkClient(address, over: transport, namespace: lab.machine.namespace)
                    lookups += try LabLookup.ask(half, client)
                }
            }
            #expect(lookups.tally == [.right: names.count * 4])
        }

        @Test func `with HTTPDNS programs get right addresses and certificates, whatever LocalDNS answers`() throws {
            try lab.hijack(.silent)
            defer { try? lab.hijack(nil) }
            let daemon = try lab.startDaemon()
            for name in try [LabName.shop] + lab.newNames(1) {
                #expect(try getent(name, "127.0.0.1") == name.address(RecordType.a))
                #expect(try getent(name, "127.0.0.1", "ahostsv6") == name.address(RecordType.aaaa))
                #expect(try dig(daemon.address, name, "A").addresses == [name.address(RecordType.a)])
                #expect(try dig(daemon.address, name, "AAAA", "+tcp").addresses == [name.address(RecordType.aaaa)])
                for family in ["-4", "-6"] {
                    #expect(try curl(name, "127.0.0.1", family).lines == ["\(name.text) \(name.text)"])
                }
            }
        }

        // HTTPDNS is cut off in the middle of a run.

        @Test(arguments: Outage.all)
        func `when HTTPDNS is cut off no name is forged, and once it is back all are right`(kind: Outage.Kind) throws {
            let outage = try Outage(kind, in: lab)
            #expect(outage.warm.tally == [.right: outage.warm.count])
            // From an honest LocalDNS not all on a busy machine: the certificates are checked within the time that a client has.
            #expect(outage.cold.others(than: .right, .explainedFailure) == [])
            let verdict = kind.hijacker == nil ? LabLookup.Verdict.right : .explainedFailure
            #expect(outage.cold.count(verdict) > outage.cold.count / 2, "\(outage.cold.tally)")
            #expect(kind.hijacker == nil || outage.recovery.warm != nil && outage.recovery.cold != nil)
        }
    }
}

extension Outage {
    /// Every outage that the lab makes. The kind of cut affects how it is detected, not the hijacker's behaviour.
    static let all =
        ([nil] + Lab.Hijacker.allCases).map { Kind(cut: .drop, hijacker: $0) }
        + [nil, .wrongCertificate].map { Kind(cut: .reject, hijacker: $0) }
}
