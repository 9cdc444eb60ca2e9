import TestServers
import Testing

extension Integration {
    /// What validators behind the daemon see, with LocalDNS of each kind: see `Documentation/DNSSEC.md`.
    @Suite(.requires(.networkNamespaces))
    struct ValidatorTests {
        typealias Case = ValidatorStage.Case
        typealias Validator = ValidatorStage.Validator

        /// Why the network's zones are not the provider's.
        enum NetworkRoute {
            case network, bypass, forward

            var table: String {
                let zones = ValidatorStage.networkZones
                return switch self {
                case .network: "[route]\nnetwork_names = \(DaemonConfiguration.list(zones))\n"
                case .bypass: DaemonConfiguration.route(bypass: zones)
                case .forward:
                    DaemonConfiguration.route(
                        forward: Dictionary(uniqueKeysWithValues: zones.map { ($0, ValidatorStage.company) }))
                }
            }
        }

        private static let secure: [Case] = [
            Case("www.signed.example", is: "secure 192.0.2.1"),
            Case("www.signed.example", RecordType.aaaa, is: "secure 2001:db8::1"),
            Case("www.signed.example", RecordType.https, is: "secure 1"),
            Case("www.signed.example", RecordType.txt, is: "secure 0"),
            Case("long.signed.example", RecordType.txt, is: "secure 1"),
            Case("any.wild.signed.example", is: "secure 192.0.2.3"),
            Case("inward.signed.example", is: "secure 192.0.2.2"),
            Case("none.signed.example", is: "secure NXDOMAIN"),
            Case("signed.example", RecordType.ds, is: "secure 1"),
            Case("www.hashed.example", is: "secure 192.0.2.2"),
            Case("none.hashed.example", is: "secure NXDOMAIN"),
            Case("www.none", is: "secure NXDOMAIN"),
            Case("example", RecordType.soa, is: "secure 1"),
            Case(".", RecordType.dnskey, is: "secure 1"),
        ]
        private static let insecure: [Case] = [
            Case("www.plain.example", is: "insecure 192.0.2.4"),
            Case("www.plain.example", RecordType.aaaa, is: "insecure 0"),
            Case("none.plain.example", is: "insecure NXDOMAIN"),
            Case("outward.signed.example", is: "insecure 192.0.2.4"),
        ]
        private static let forged: [Case] = [
            Case("forged.signed.example", is: "SERVFAIL"),
            Case("forged.hashed.example", is: "SERVFAIL"),
            Case("bare.signed.example", is: "SERVFAIL"),
            Case("www.broken.example", is: "SERVFAIL"),
        ]

        private static func network(answers: Bool) -> [Case] {
            [
                Case("nas.fritz.box", is: answers ? "insecure 10.0.0.1" : "SERVFAIL"),
                Case("git.corp.example", is: answers ? "insecure 10.0.0.2" : "SERVFAIL"),
                Case("nas.home.arpa", is: answers ? "insecure 192.168.1.1" : "SERVFAIL"),
                Case("1.1.168.192.in-addr.arpa", RecordType.ptr, is: answers ? "insecure 1" : "SERVFAIL"),
                Case("none.corp.example", is: answers ? "insecure NXDOMAIN" : "SERVFAIL"),
            ]
        }

        /// A server, and what validators behind it make of names.
        struct Scene: CustomTestStringConvertible, Sendable {
            let testDescription: String
            let localDNS: ValidatorStage.LocalDNS
            /// Where the server asks.
            enum Source: Sendable {
                case doh, localDNS
                /// DoH beside an address service, or behind one that is for the network's names alone.
                case dohBesideAddresses, dohBehindOwn
                /// An address service alone.
                case addresses
            }
            var source = Source.doh
            var route = ""
            let cases: [Case]
            /// The same where the validator is not to verify these names.
            var exempt: (names: [String], cases: [Case])?
        }

        private static let all = secure + insecure + forged
        private static let protected = [
            Case("www.signed.example", is: "secure 192.0.2.1"),
            Case("www.signed.example", RecordType.txt, is: "secure 0"),
            Case("outward.signed.example", is: "insecure 192.0.2.4"),
        ]

        static let scenes: [Scene] =
            [
                (ValidatorStage.LocalDNS.plain, NetworkRoute.network), (.signing, .network), (.absent, .network),
                (.signing, .bypass), (.absent, .forward),
            ].map { localDNS, route in
                Scene(
                    testDescription: "DoH, LocalDNS \(localDNS), \(route)", localDNS: localDNS, route: route.table,
                    cases: all + network(answers: localDNS != .absent || route == .forward))
            } + [
                Scene(
                    testDescription: "LocalDNS, which passes signatures on", localDNS: .signing, source: .localDNS,
                    route: DaemonConfiguration.route(mode: "localdns-only"), cases: all + network(answers: true)),
                Scene(
                    testDescription: "an address service beside DoH changes nothing", localDNS: .plain,
                    source: .dohBesideAddresses, cases: all),
                Scene(
                    testDescription: "a protected name, though no list has its parents", localDNS: .plain,
                    route: DaemonConfiguration.route(protect: ["www.signed.example", "outward.signed.example"]),
                    cases: protected),
                Scene(
                    testDescription: "a protected domain, though no list has its parents", localDNS: .plain,
                    route: DaemonConfiguration.route(protect: ["signed.example"]), cases: protected),
                Scene(
                    testDescription: "names of a provider of their own, which does not know who delegates them",
                    localDNS: .absent, source: .dohBehindOwn,
                    cases: [
                        Case("git.corp.example", is: "insecure 10.0.0.2"),
                        Case("none.corp.example", is: "insecure NXDOMAIN"),
                        Case("www.signed.example", is: "secure 192.0.2.1"),
                    ]),
                Scene(
                    testDescription: "signed names through an address service fail", localDNS: .signing,
                    source: .addresses,
                    cases: [
                        Case("www.plain.example", is: "insecure 203.0.113.4"),
                        Case("www.signed.example", is: "SERVFAIL"),
                    ],
                    exempt: (["www.signed.example"], [Case("www.signed.example", is: "insecure 203.0.113.1")])),
                Scene(
                    testDescription: "names of the network that the root denies fail", localDNS: .plain,
                    cases: [Case("nas.lan", is: "SERVFAIL")],
                    exempt: (
                        ["lan"],
                        [Case("nas.lan", is: "insecure 10.0.0.4"), Case("www.signed.example", is: "secure 192.0.2.1")]
                    )),
            ]

        @Test(arguments: scenes)
        func `what is signed is secure, what is not resolves, and what is forged fails`(scene: Scene) throws {
            let stage = try ValidatorStage(scene.localDNS)
            let vendor = try stage.host.namespace.inside {
                try FakeHTTPDNS(
                    FakeZone([
                        "www.signed.example": .init(a: ["203.0.113.1"]), "www.plain.example": .init(a: ["203.0.113.4"]),
                        "git.corp.example": .init(a: ["10.0.0.2"]), "corp.example": .init(),
                    ]))
            }
            let providers =
                switch scene.source {
                case .doh: stage.provider()
                case .localDNS: ""
                case .dohBesideAddresses: DaemonConfiguration.aliyun(vendor.url) + stage.provider()
                case .dohBehindOwn:
                    DaemonConfiguration.doh(vendor.url, "names = [\"corp.example\"]") + stage.provider()
                case .addresses: DaemonConfiguration.aliyun(vendor.url)
                }
            let daemon = try stage.daemon(providers, route: scene.route)
            for validator in Validator.allCases {
                try stage.check(scene.cases, at: validator)
                if let (names, cases) = scene.exempt { try stage.check(cases, at: validator, exempt: names) }
            }
            withExtendedLifetime(daemon) {}
        }
    }
}
