import TestServers
import TestSupport
import Testing

extension Integration {
    /// The four modes, and the source that is left when another one fails.
    struct RoutingTests {
        /// Which upstream answers in a mode.
        struct Mode: CustomTestStringConvertible, Sendable {
            let name: String
            /// While vendor and LocalDNS work, when LocalDNS fails, and when the vendor does; nil: neither.
            let answers: (well: Source, withoutLocalDNS: Source?, withoutVendor: Source?)

            var testDescription: String { name }
        }

        enum Source: String {
            case vendor = "192.0.2.1"
            case localDNS = "198.51.100.1"
        }

        @Test(arguments: [
            Mode(name: "httpdns-first", answers: (.vendor, .vendor, .localDNS)),
            Mode(name: "httpdns-only", answers: (.vendor, .vendor, nil)),
            Mode(name: "localdns-only", answers: (.localDNS, nil, .localDNS)),
            Mode(name: "localdns-first", answers: (.localDNS, .vendor, .localDNS)),
        ])
        func `each mode asks its first source alone while that answers, then the next, if any`(mode: Mode) throws {
            let vendor = try FakeHTTPDNS(FakeZone("*", a: [Source.vendor.rawValue]))
            let localDNS = try FakeLocalDNS(FakeZone("*", a: [Source.localDNS.rawValue]))
            // LocalDNS is believed without certificates.
            let rest = DaemonConfiguration.rest(localDNS: localDNS.address, check: "auto")
                .replacing("[cache.disk]", with: "unverified = [\"example.com\"]\n[cache.disk]")
            let daemon = try Daemon(
                DaemonConfiguration.aliyun(vendor.url) + DaemonConfiguration.route(mode: mode.name) + rest)
            func expect(_ name: String, from source: Source?) throws {
                let reply = try daemon.client().ask(name)
                #expect(reply.addresses == [source?.rawValue].compactMap(\.self), "\(name)")
                #expect(reply.rcode == (source == nil ? ResponseCode.servFail : ResponseCode.noError), "\(name)")
            }
            try expect("well.example.com", from: mode.answers.well)
            #expect((vendor.callCount() > 0) == (mode.answers.well == .vendor))
            #expect((localDNS.questionCount() > 0) == (mode.answers.well == .localDNS))
            localDNS.behave(.rcode(ResponseCode.servFail))
            try expect("one.example.com", from: mode.answers.withoutLocalDNS)
            localDNS.behave(.honest)
            vendor.misbehave(.status(500))
            try expect("other.example.com", from: mode.answers.withoutVendor)
            if mode.name == "httpdns-only" { #expect(localDNS.questionCount() == 0) }
            if mode.name == "localdns-only" { #expect(vendor.callCount() == 0) }
        }
    }
}
