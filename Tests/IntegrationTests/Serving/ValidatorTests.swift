import TestServers
import Testing

extension Integration {
    /// What validators behind the daemon see, with LocalDNS of each kind: see `Documentation/DNSSEC.md`.
    @Suite(.serialized, .requires(.networkNamespaces))
    struct ValidatorTests {
        typealias Case = ValidatorStage.Case
        typealias Validator = ValidatorStage.Validator

        /// Why the network's zones are not the provider's.
        enum NetworkRoute: CaseIterable {
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

        @Test(arguments: [
            (ValidatorStage.LocalDNS.plain, NetworkRoute.network), (.signing, .network), (.absent, .network),
            (.signing, .bypass), (.absent, .forward),
        ])
        func `through a DoH provider what is signed is secure, what is not resolves, and what is forged fails`(
            localDNS: ValidatorStage.LocalDNS, route: NetworkRoute
        ) throws {
            let stage = try ValidatorStage(localDNS)
            let daemon = try stage.daemon(stage.provider(), route: route.table)
            let cases =
                Self.secure + Self.insecure + Self.forged
                + Self.network(answers: localDNS != .absent || route == .forward)
            for validator in Validator.allCases {
                try stage.check(cases, at: validator)
            }
            withExtendedLifetime(daemon) {}
        }

        @Test(arguments: Validator.allCases)
        func `what LocalDNS answers is secure where it passes signatures on`(validator: Validator) throws {
            let stage = try ValidatorStage(.signing)
            let daemon = try stage.daemon("", route: DaemonConfiguration.route(mode: "localdns-only"))
            let cases = Self.secure + Self.insecure + Self.forged + Self.network(answers: true)
            try stage.check(cases, at: validator)
            withExtendedLifetime(daemon) {}
        }

        @Test(arguments: Validator.allCases)
        func `beside a DoH provider an address service changes nothing`(validator: Validator) throws {
            let stage = try ValidatorStage(.plain)
            let vendor = try Self.vendor(on: stage)
            let daemon = try stage.daemon(DaemonConfiguration.aliyun(vendor.url) + stage.provider())
            try stage.check(Self.secure + Self.insecure + Self.forged, at: validator)
            withExtendedLifetime(daemon) {}
        }

        @Test(arguments: [["www.signed.example", "outward.signed.example"], ["signed.example"]], Validator.allCases)
        func `what is protected is secure, though no list has its parents and LocalDNS no signatures`(
            protect: [String], validator: Validator
        ) throws {
            let stage = try ValidatorStage(.plain)
            let daemon = try stage.daemon(stage.provider(), route: DaemonConfiguration.route(protect: protect))
            let cases = [
                Case("www.signed.example", is: "secure 192.0.2.1"),
                Case("www.signed.example", RecordType.txt, is: "secure 0"),
                Case("outward.signed.example", is: "insecure 192.0.2.4"),
            ]
            try stage.check(cases, at: validator)
            withExtendedLifetime(daemon) {}
        }

        @Test(arguments: Validator.allCases)
        func `names that a provider of their own answers resolve, though it does not know who delegates them`(
            validator: Validator
        ) throws {
            let stage = try ValidatorStage(.absent)
            let own = try stage.host.namespace.inside {
                try FakeHTTPDNS(FakeZone(["git.corp.example": .init(a: ["10.0.0.2"]), "corp.example": .init()]))
            }
            let provider = DaemonConfiguration.doh(own.url, "names = [\"corp.example\"]")
            let daemon = try stage.daemon(provider + stage.provider())
            let cases = [
                Case("git.corp.example", is: "insecure 10.0.0.2"),
                Case("none.corp.example", is: "insecure NXDOMAIN"),
                Case("www.signed.example", is: "secure 192.0.2.1"),
            ]
            try stage.check(cases, at: validator)
            withExtendedLifetime(daemon) {}
        }

        @Test(arguments: Validator.allCases)
        func `through an address service signed names fail, but for those that the validator is not to verify`(
            validator: Validator
        ) throws {
            let stage = try ValidatorStage(.signing)
            let vendor = try Self.vendor(on: stage)
            let daemon = try stage.daemon(DaemonConfiguration.aliyun(vendor.url))
            let cases = [
                Case("www.plain.example", is: "insecure 203.0.113.4"), Case("www.signed.example", is: "SERVFAIL"),
            ]
            try stage.check(cases, at: validator)
            let exempt = [Case("www.signed.example", is: "insecure 203.0.113.1")]
            try stage.check(exempt, at: validator, exempt: ["www.signed.example"])
            withExtendedLifetime(daemon) {}
        }

        @Test(arguments: Validator.allCases)
        func `names of the network that the root denies fail, unless the validator is not to verify them`(
            validator: Validator
        ) throws {
            let stage = try ValidatorStage(.plain)
            let daemon = try stage.daemon(stage.provider())
            try stage.check([Case("nas.lan", is: "SERVFAIL")], at: validator)
            let exempt = [Case("nas.lan", is: "insecure 10.0.0.4"), Case("www.signed.example", is: "secure 192.0.2.1")]
            try stage.check(exempt, at: validator, exempt: ["lan"])
            withExtendedLifetime(daemon) {}
        }

        private static func vendor(on stage: ValidatorStage) throws -> FakeHTTPDNS {
            try stage.host.namespace.inside {
                try FakeHTTPDNS(
                    FakeZone([
                        "www.signed.example": .init(a: ["203.0.113.1"]), "www.plain.example": .init(a: ["203.0.113.4"]),
                    ]))
            }
        }
    }
}
