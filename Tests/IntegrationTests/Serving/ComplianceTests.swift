import TestServers
import TestSupport
import Testing

extension Integration {
    /// The queries of ISC's genreport, which examines whether servers do as the RFCs demand (RFC 8906 section 8), each as
    /// a case of the name of its test. The expectations are the RFCs' for a server that is authoritative for nothing;
    /// genreport has the same ones with its option `-R`.
    @Suite(.serialized)
    struct ComplianceTests {
        private let localDNS: FakeLocalDNS
        private let directory: TemporaryDirectory
        private let socket: String
        private let daemon: Daemon

        init() throws {
            directory = try TemporaryDirectory()
            socket = directory.path + "/control.sock"
            localDNS = try FakeLocalDNS(ComplianceZone.zone)
            localDNS.behave(.bounded)
            daemon = try Daemon(
                DaemonConfiguration.route(mode: "localdns-only")
                    + DaemonConfiguration.rest(localDNS: localDNS.address, control: socket))
        }

        private func check(_ one: ComplianceCase, recursionDesired: Bool = true) throws {
            let query = one.query(recursionDesired: recursionDesired)
            let response =
                switch one.transport {
                case .udp: try daemon.client().ask(query)
                case .tcp: try daemon.tcpClient().ask(query)
                }
            #expect(one.faults(of: response, to: query) == [], "\(one.description)")
        }

        @Test func `each query gets the response that the RFCs demand, first fetched and then cached`() throws {
            for one in ComplianceCase.all {
                #expect(try Daemon.run(["cache", "flush", "--all", "--socket", socket]).status == 0)
                try check(one)
                let questions = localDNS.questionCount(ComplianceZone.name)
                try check(one, recursionDesired: false)
                #expect(localDNS.questionCount(ComplianceZone.name) == questions, "\(one.description)")
            }
        }

        @Test func `records of every type come unchanged, and without records the response is NOERROR all the same`()
            throws
        {
            for kind in ComplianceZone.kinds {
                // What is over 512 bytes is truncated over UDP.
                let isLarge = kind.data.joined().count > 400
                try check(
                    ComplianceCase(
                        kind.name, "records come unchanged", "RFC 3597 section 3", [], ComplianceZone.name, kind.number,
                        over: isLarge ? .tcp : .udp, gives: kind.data.isEmpty ? .noRecords : .records))
                try check(
                    ComplianceCase(
                        kind.name, "there is no such record", "RFC 2308 section 2.2", [], ComplianceZone.emptyName,
                        kind.number, gives: .noRecords))
            }
        }
    }
}
