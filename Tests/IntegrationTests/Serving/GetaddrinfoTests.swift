import TestServers
import TestSupport
import Testing

extension Integration {
    /// `getaddrinfo` of both C libraries, with a `resolv.conf` that names the daemon: how most programs ask.
    @Suite(.requires(.networkNamespaces))
    struct GetaddrinfoTests {
        /// How the question for one address family fails while the other one's succeeds.
        enum Fault: CaseIterable {
            /// NOERROR without records.
            case empty
            case serverFailure
            case refused
            /// NXDOMAIN, although the name has addresses of the other family: the response of broken load balancers.
            case noSuchName
            case silence

            var rcode: Int? {
                switch self {
                case .serverFailure: ResponseCode.servFail
                case .refused: ResponseCode.refused
                case .noSuchName: ResponseCode.nxDomain
                case .empty, .silence: nil
                }
            }
        }

        private static let four = "192.0.2.1"
        private static let six = "2001:db8::1"

        private func lookUp(
            _ library: CLibrary, _ name: String, on host: ClientHost, options: [String] = [],
            resolvConf: String = ClientHost.resolvConf
        ) throws -> ChildProcess.Outcome {
            try host.run([library.lookup()] + options + [name], resolvConf: resolvConf)
        }

        @Test(arguments: Fault.allCases, [true, false])
        func `a look-up succeeds when one family fails`(fault: Fault, protected: Bool) throws {
            let host = try ClientHost()
            let cases = CLibrary.allCases.flatMap { library in
                [(RecordType.a, Self.six), (RecordType.aaaa, Self.four)].map { failing, address in
                    (library, failing, address, name: "\(library)-\(failing).example.com")
                }
            }
            var zone = FakeZone()
            for (_, _, address, name) in cases {
                zone.entries[name] = .init(
                    a: [address].filter { !$0.contains(":") }, aaaa: [address].filter { $0.contains(":") })
            }
            let stage = try Stage(
                .doh, zone, localDNS: zone,
                route: protected ? "" : DaemonConfiguration.route(bypass: ["example.com"]), inside: host)
            for (_, failing, _, name) in cases {
                if let rcode = fault.rcode {
                    // Not before the client's second question has been read: a real round trip takes longer than a busy
                    // machine may take between the two.
                    stage.vendor.misbehave(
                        .rcode(rcode, after: .milliseconds(100)), for: name, type: failing)
                    stage.localDNS.behave(.rcode(rcode, after: .milliseconds(100)), for: name, type: failing)
                } else if fault == .silence {
                    stage.vendor.misbehave(.hang, for: name, type: failing)
                    stage.localDNS.behave(.silent, for: name, type: failing)
                }
            }
            let programs = try cases.map { library, _, address, name in
                (library, address, name, try host.start([library.lookup(), name]))
            }
            for (_, address, name, program) in programs {
                let outcome = try program.finish(within: .patience)
                #expect(outcome.lines == [address], "\(name)")
            }
        }

        @Test(arguments: CLibrary.allCases)
        func `when no upstream answers, the program gets the error that asks to try again`(library: CLibrary) throws {
            let host = try ClientHost()
            let stage = try Stage(inside: host)
            stage.vendor.misbehave(.status(500))
            stage.localDNS.behave(.rcode(ResponseCode.servFail))
            #expect(try lookUp(library, "www.example.com", on: host).lines == ["EAI_AGAIN"])
        }

        @Test(arguments: CLibrary.allCases)
        func `a name in the domains of a search list is found at LocalDNS where the vendor does not have it`(
            library: CLibrary
        ) throws {
            let host = try ClientHost()
            let directory = try TemporaryDirectory()
            let text = ClientHost.resolvConf + "search one.corp.example corp.example\noptions ndots:5\n"
            let list = try directory.write(text, to: "resolv.conf")
            let stage = try Stage(
                localDNS: FakeZone("printer.corp.example", a: ["10.1.2.3"]), inside: host, resolvConf: list)
            #expect(Set(try lookUp(library, "www.example.com", on: host, resolvConf: text).lines).count == 3)
            #expect(try lookUp(library, "printer", on: host, resolvConf: text).lines == ["10.1.2.3"])
            #expect(stage.vendor.calls.contains { $0.name == "printer.corp.example" })
        }
    }
}
