import TestServers
import Testing

extension Integration {
    /// The queries of ISC's genreport, which examines whether servers do as the RFCs demand (RFC 8906 section 8), each as
    /// a case of the name of its test. The expectations are the RFCs' for a server that is authoritative for nothing;
    /// genreport has the same ones with its option `-R`.
    @Suite(.serialized)
    struct ComplianceTests {
        private let localDNS: FakeLocalDNS
        private let daemon: Daemon

        init() throws {
            localDNS = try FakeLocalDNS(ComplianceZone.zone)
            localDNS.behave(.bounded)
            daemon = try Daemon(
                DaemonConfiguration.route(mode: "localdns-only") + DaemonConfiguration.rest(localDNS: localDNS.address))
        }

        /// The response to one query.
        private func ask(_ query: TestMessage, of one: ComplianceCase) throws -> TestMessage {
            switch one.transport {
            case .udp: try daemon.client().ask(query)
            case .tcp: try daemon.tcpClient().ask(query)
            }
        }

        private func faults(of one: ComplianceCase, recursionDesired: Bool) throws -> [String] {
            let query = one.query(recursionDesired: recursionDesired)
            return one.faults(of: try ask(query, of: one), to: query)
        }

        @Test(arguments: ComplianceCase.all)
        func `each query gets the response that the RFCs demand, first fetched and then cached`(
            one: ComplianceCase
        ) throws {
            #expect(try faults(of: one, recursionDesired: true) == [])
            let questions = localDNS.questionCount(ComplianceZone.name)
            #expect(try faults(of: one, recursionDesired: false) == [])
            #expect(localDNS.questionCount(ComplianceZone.name) == questions)
        }

        @Test(arguments: ComplianceZone.kinds)
        func `records of every type come unchanged, and without records the response is NOERROR all the same`(
            kind: ComplianceZone.Kind
        ) throws {
            let rules = (present: "RFC 3597 section 3", absent: "RFC 2308 section 2.2")
            // What is over 512 bytes is truncated over UDP.
            let isLarge = kind.data.joined().count > 400
            let present = ComplianceCase(
                kind.name, "records come unchanged", rules.present, [], ComplianceZone.name, kind.number,
                over: isLarge ? .tcp : .udp, gives: kind.data.isEmpty ? .noRecords : .records)
            let absent = ComplianceCase(
                kind.name, "there is no such record", rules.absent, [], ComplianceZone.emptyName, kind.number,
                gives: .noRecords)
            for one in [present, absent] { #expect(try faults(of: one, recursionDesired: true) == []) }
        }

        @Test func `the cases are those of genreport's groups`() {
            #expect(Set(ComplianceCase.all.map(\.name)).count == 33)
            #expect(Set(ComplianceZone.kinds.map(\.number)).count == 65)
        }

        @Test func `a response with one thing wrong is not accepted`() throws {
            for one in ComplianceCase.all {
                let query = one.query(recursionDesired: true)
                let response = try ask(query, of: one)
                #expect(one.faults(of: response, to: query) == [])
                for (name, alter) in Self.alterations(response) {
                    var altered = response
                    alter(&altered)
                    #expect(one.faults(of: altered, to: query) != [], "\(one.name): \(name)")
                }
            }
        }

        /// Changes that make a right response wrong.
        private static func alterations(_ response: TestMessage) -> [(String, (inout TestMessage) -> Void)] {
            var alterations: [(String, (inout TestMessage) -> Void)] = (0..<16).map { bit in
                ("bit \(bit) of the flags", { $0.flags ^= 1 << bit })
            }
            alterations += [
                ("ID", { $0.id ^= 1 }),
                ("question", { $0.questionBytes.append(1) }),
                ("no question, or one", { $0.questions = $0.questions.isEmpty ? [.init("example.org")] : [] }),
                ("OPT", { $0.edns = $0.edns == nil ? EDNS() : nil }),
                ("a record too many", { $0.answers.append(.init("example.org", 1, ttl: 60, data: [192, 0, 2, 9])) }),
                ("size", { $0.byteCount = 65_536 }),
            ]
            if response.edns != nil {
                alterations += [
                    ("two OPT", { $0.additionals.append(EDNS().record) }),
                    ("version", { $0.edns?.version = 1 }),
                    ("DO", { $0.edns?.flags ^= 0x8000 }),
                    ("flag of EDNS", { $0.edns?.flags |= 0x0080 }),
                    ("option", { $0.edns?.options.append(.init(100)) }),
                    ("RCODE of EDNS", { $0.edns?.extendedRCODE ^= 1 }),
                    ("payload", { $0.edns?.size = 511 }),
                ]
            }
            if !response.answers.isEmpty {
                alterations += [
                    ("rdata", { $0.answers[0].data[0] ^= 1 }),
                    ("owner", { $0.answers[0].name = "example.net" }),
                    ("class", { $0.answers[0].class = 3 }),
                    ("TTL 0", { $0.answers[0].ttl = 0 }),
                    ("TTL beyond the source's", { $0.answers[0].ttl += 60 }),
                    ("a record missing", { $0.answers.removeLast() }),
                ]
            }
            if !response.authorities.isEmpty { alterations.append(("no denial", { $0.authorities = [] })) }
            return alterations
        }
    }
}
