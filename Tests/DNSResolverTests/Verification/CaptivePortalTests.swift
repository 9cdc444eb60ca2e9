import DNSResolver
import DNSWire
import Testing

/// What looks like a captive portal.
struct CaptivePortalTests {
    private static let portal = IPAddress.v4(0x0a00_0001)
    private static let other = IPAddress.v4(0xcb00_7142)

    /// Forged addresses, each seen at a second.
    ///
    /// - Parameter fingerprints: of the certificate at each address; no entry: it is not available.
    private static func seen(
        _ seen: [(name: String, address: IPAddress, at: Int64)], fingerprints: [IPAddress: String] = [:]
    ) throws -> [HijackedAddress] {
        try seen.map { name, address, time in
            HijackedAddress(
                name: try Name(name), address: address, port: 443,
                evidence: CertificateEvidence(reason: "another", fingerprint: fingerprints[address] ?? ""), first: time,
                last: time, count: 1)
        }
    }

    @Test func `one address for two unrelated names is a portal's`() throws {
        let entries = try Self.seen([
            ("www.example.com", Self.portal, 990), ("x.test", Self.other, 985), ("mail.example.net", Self.portal, 980),
        ])
        #expect(CaptivePortal.sign(in: entries, now: 1_000) == .address(Self.portal))
    }

    @Test(arguments: [["www.example.com", "api.v2.example.com"], ["example.com", "www.example.com"], ["example.com"]])
    func `one address for the names of one site is not`(names: [String]) throws {
        let entries = try Self.seen(names.map { ($0, Self.portal, 990) })
        #expect(CaptivePortal.sign(in: entries, now: 1_000) == nil)
    }

    @Test func `different addresses for unrelated names are not`() throws {
        let entries = try Self.seen([("www.example.com", Self.portal, 990), ("www.example.net", Self.other, 990)])
        #expect(CaptivePortal.sign(in: entries, now: 1_000) == nil)
    }

    @Test(arguments: [880, 1_001] as [Int64])
    func `what was seen longer ago, or by a clock that was set back, says nothing of this network`(time: Int64) throws {
        let entries = try Self.seen([("www.example.com", Self.portal, 990), ("www.example.net", Self.portal, time)])
        #expect(CaptivePortal.sign(in: entries, now: 1_000) == nil)
    }

    @Test func `one certificate at different addresses of unrelated names is a portal too`() throws {
        let entries = try Self.seen(
            [("www.example.com", Self.portal, 990), ("x.test", .v4(1), 985), ("www.example.net", Self.other, 980)],
            fingerprints: [Self.portal: "aa", Self.other: "aa", .v4(1): "bb"])
        #expect(CaptivePortal.sign(in: entries, now: 1_000) == .certificate("aa"))
    }

    @Test(arguments: [
        ("www.example.com", "www.example.net", ["aa", "bb"]), ("www.example.com", "api.example.com", ["aa", "aa"]),
        ("www.example.com", "www.example.net", ["", ""]),
    ])
    func `different certificates, those of one site, and unknown ones say nothing`(
        first: String, second: String, fingerprints: [String]
    ) throws {
        let entries = try Self.seen(
            [(first, Self.portal, 990), (second, Self.other, 990)],
            fingerprints: [Self.portal: fingerprints[0], Self.other: fingerprints[1]])
        #expect(CaptivePortal.sign(in: entries, now: 1_000) == nil)
    }
}
