import Admin
import Configuration
import DNSResolver
import DNSWire
import Platform
import Testing

@testable import httpdnsd

struct SourcesCheckTests {
    private static let checks: [Check] = [
        .route, .httpdnsSwitch, .providers, .localDNS, .loop, .forgeries, .network, .clock, .diskCache,
    ]

    private static var well: StatusReport {
        var (status, provider, address) = (StatusReport(), StatusReport.Provider(), StatusReport.Address())
        address.address = "192.0.2.1:443"
        provider.name = "vendor"
        provider.addresses = [address]
        status.providers = [provider]
        status.localDNS = [.init(address: "192.0.2.53:53", state: .used, retry: nil)]
        return status
    }

    /// Changes of a status, each with the keys of all that is found in it then.
    private static let changes: [(change: @Sendable (inout StatusReport) -> Void, keys: [String])] = [
        ({ _ in }, []), ({ $0.isOn = false }, ["switch.off"]),
        ({ $0.providers[0].state = .refused }, ["provider.refused"]),
        ({ $0.providers[0].state = .exhausted }, ["provider.exhausted"]),
        ({ $0.providers[0].state = .disabled }, ["provider.disabled"]),
        // One address that answers is enough.
        (
            { status in
                var dead = status.providers[0].addresses[0]
                dead.state = .inBackoff
                status.providers[0].addresses.append(dead)
            }, []
        ),
        // A backoff that is over is none.
        ({ ($0.providers[0].addresses[0].state, $0.localDNS[0].state) = (.probeDue, .probeDue) }, []),
        // A loop is not called down.
        ({ $0.localDNS[0].state = .inBackoff }, ["localdns.unreachable"]),
        ({ $0.localDNS[0].state = .loop }, ["loop.found"]), ({ $0.portal = "203.0.113.1" }, ["network.portal"]),
        ({ $0.interception = "abcd" }, ["network.intercepted"]), ({ $0.clock = "clock is wrong" }, ["clock.wrong"]),
        ({ $0.providers[0].clockOffset = -600 }, ["clock.wrong"]),
        ({ $0.providers[0].clockOffset = 61 }, ["clock.wrong"]),
        ({ $0.providers[0].clockOffset = 5 }, []), ({ $0.providers[0].clockOffset = -60 }, []),
        ({ $0.providers[0].clockOffset = 60 }, []),
        ({ ($0.cache.file, $0.cache.fileError) = ("/nowhere/cache.db", "Permission denied") }, ["disk.unused"]),
    ]

    @Test(arguments: changes.indices) func `what a server says of itself is found, and nothing else`(number: Int) throws
    {
        var status = Self.well
        Self.changes[number].change(&status)
        let patient = try Patient(status: status)
        let found = Self.checks.flatMap { patient.keys($0) ?? ["not made"] }
        #expect(found == Self.changes[number].keys)
    }

    @Test func `of a server that does not run nothing is claimed`() throws {
        let patient = try Patient()
        for check in Self.checks where check.subject != "route" {
            #expect(patient.keys(check) == nil, "\(check.subject)")
        }
    }

    @Test func `the page gets what the status shows of all of them`() {
        var status = Self.well
        (status.isOn, status.localDNS[0].state) = (false, .inBackoff)
        (status.shared.address, status.shared.state) = ("192.0.2.1:6379", .inBackoff)
        #expect(
            Check.all.flatMap { $0.reported(status) { _ in true } }.map(\.key)
                == ["switch.off", "localdns.unreachable", "shared.unreachable"])
        #expect(Check.all.flatMap { $0.reported(Self.well) { _ in true } } == [])
    }

    @Test func `what the server says of itself arrives as it is, whatever is in it`() throws {
        var status = Self.well
        (status.version, status.configuration, status.pid) = ("1.2.3", "/etc/a b.toml", 7)
        (status.listen, status.reloadErrors) = (["127.0.0.1:53"], ["line 1:\ta \u{1b} mistake\n"])
        status.cache.fileError = "Permission denied"
        status.providers[0].state = .exhausted
        let said = Testimony(status) { _ in true }
        let lines = said.rows.map { ReportForm.row($0) }
        #expect(lines.allSatisfy { !$0.contains("\n") && !$0.contains("\u{1b}") })
        let heard = Testimony(rows: lines.map { ReportForm.cells(of: $0[...]) })
        #expect(heard.version == "1.2.3" && heard.configuration == "/etc/a b.toml" && heard.pid == 7)
        #expect(heard.listen.map(\.description) == ["127.0.0.1:53"])
        #expect(heard.reloadErrors == ["line 1:\\x09a \\x1b mistake\\x0a"])
        #expect(heard.failures == ["Permission denied"])
        #expect(heard.addresses(of: "vendor") == ["192.0.2.1:443"] && heard.addresses(of: "other") == nil)
        #expect(heard.localDNS == ["192.0.2.53:53"])
        let found = heard.found(by: "providers")
        #expect(found.map(\.provider) == ["vendor"] && found.map(\.key) == ["provider.exhausted"])
        #expect(found == said.found(by: "providers"))
    }

    @Test func `what a server of another version says is passed over where it is not understood`() {
        let rows = [
            [], ["new"], ["pid", "x"], ["listen"], ["finding", "disk"], ["provider"],
            ["finding", "disk", "", "a", "b", "", ""],
        ]
        let heard = Testimony(rows: rows)
        #expect(heard.pid == nil && heard.listen.isEmpty && heard.found(by: "disk").isEmpty)
        #expect(heard.version.isEmpty && heard.providerAddresses.isEmpty)
    }

    @Test func `where the signed policy switches HTTPDNS off, the machine's own switch is no remedy`() throws {
        var status = Self.well
        (status.isOn, status.policy.switchesOff) = (false, true)
        let finding = try #require(Check.httpdnsSwitch.findings(Patient(status: status).examination)?.first)
        #expect(finding.key == "switch.off" && finding.sentence.contains("signed policy"))
        #expect(finding.remedy.contains("policy show") && !finding.remedy.contains("switch on"))
    }

    @Test func `a remedy for the switch names the server's configuration, on the page too`() {
        var status = Self.well
        (status.isOn, status.configuration) = (false, "/srv/dns.toml")
        #expect(
            Check.httpdnsSwitch.reported(status) { _ in true }.map(\.remedy)
                == ["`httpdnsd switch on --config /srv/dns.toml`"])
    }

    @Test(arguments: [
        ("http://192.0.2.1", ["provider.forgeable"]), ("https://192.0.2.1", []), ("http://127.0.0.1:9", []),
        ("http://[::1]:9", []), ("http://a.example\"\naddresses = [\"192.0.2.1\"] #", ["provider.forgeable"]),
        ("http://a.example\"\naddresses = [\"127.0.0.1\"] #", []),
    ])
    func `a provider that is asked over plain http is found, unless it is on this machine`(
        url: String, found: [String]
    ) throws {
        let text = Patient.configuration.replacing("http://127.0.0.1:9", with: url)
        #expect(try Patient([:], text).keys(.transport) == found)
    }

    private func provider(
        _ error: String, hasRoute: @escaping @Sendable (SocketAddress) -> Bool = { _ in true }
    ) throws -> (key: String, text: String) {
        var status = Self.well
        (status.providers[0].addresses[0].state, status.providers[0].addresses[0].lastError) = (.inBackoff, error)
        // Of IPv6 alone: where there is no IPv4, LocalDNS is reached.
        status.localDNS = [.init(address: "[2001:db8::53]:53", state: .used, retry: nil)]
        let patient = try Patient(status: status, hasRoute: hasRoute)
        let finding = try #require(Check.providers.findings(patient.examination)?.first)
        return (finding.key, "\(finding.sentence) \(finding.remedy)")
    }

    @Test(arguments: [
        ("Connection refused", "provider.unreachable", ["at 192.0.2.1:443: Connection refused", "firewall"]),
        (
            "the certificate is self-signed", "provider.untrusted",
            ["at 192.0.2.1:443: the certificate is self-signed", "openssl s_client -connect 192.0.2.1:443"]
        ), ("HTTP 503", "provider.failing", ["HTTP 503"]),
    ])
    func `a provider none of whose addresses answers is found by its last error, and no other is blamed on a firewall`(
        error: String, key: String, parts: [String]
    ) throws {
        let found = try provider(error)
        #expect(found.key == key && parts.allSatisfy(found.text.contains), "\(found.text)")
        #expect(found.text.contains("firewall") == parts.contains("firewall"))
    }

    @Test func `a provider over a family that this machine lacks is found, with the family that it needs`() throws {
        let (key, text) = try provider("connect: Network is unreachable") { $0.family == .ipv6 }
        #expect(key == "provider.unrouted" && text.contains("an IPv6 address of the service"), "\(text)")
    }

    @Test func `a machine without any route has one finding, and no provider is blamed`() throws {
        var status = Self.well
        (status.providers[0].addresses[0].state, status.localDNS[0].state) = (.inBackoff, .inBackoff)
        let patient = try Patient(status: status) { _ in false }
        #expect(patient.keys(.route) == ["network.none"])
        #expect(patient.keys(.providers) == nil && patient.keys(.localDNS) == nil)
    }

    @Test func `where authorities cannot be read, no certificate is blamed`() throws {
        var status = Self.well
        (status.providers[0].name, status.providers[0].addresses[0].state) = ("aliyun", .inBackoff)
        status.providers[0].addresses[0].lastError = "the certificate has no issuer that is known"
        let text = Patient.configuration.replacing(
            "http://127.0.0.1:9\"", with: "https://192.0.2.1\"\nca_file = \"/nowhere\"")
        #expect(try Patient([:], text, status: status).keys(.providers) == [])
        #expect(try Patient([:], text).keys(.authorities) == ["authorities.missing"])
    }

    @Test func `a provider that has not answered doctor's question is found, with or without a server`() throws {
        for status in [Self.well, nil] {
            var patient = try Patient(status: status)
            patient.examination.questions = ["aliyun": "connect: Connection refused"]
            #expect(patient.keys(.providers) == ["provider.unreachable"])
            patient.examination.questions = ["aliyun": nil]
            #expect(patient.keys(.providers) == [])
        }
    }

    @Test func `what the server has seen of a provider is said once`() throws {
        var status = Self.well
        (status.providers[0].name, status.providers[0].state) = ("aliyun", .refused)
        var patient = try Patient(status: status)
        patient.examination.questions = ["aliyun": "refused"]
        #expect(patient.keys(.providers) == ["provider.refused"])
    }

    @Test func `a forged address is found with its evidence`() throws {
        var status = Self.well
        status.forged = [
            HijackedAddress(
                name: try Name("www.example.com"), address: .v4(0xcb00_7109), server: "192.0.2.53:53", port: 443,
                evidence: CertificateEvidence(reason: "another name", subject: "", issuer: "", fingerprint: "abcd"),
                first: 0, last: 0, count: 1)
        ]
        let findings = try #require(Check.forgeries.findings(Patient(status: status).examination))
        #expect(findings.map(\.key) == ["localdns.forged"])
        for part in ["192.0.2.53:53", "www.example.com", "203.0.113.9", "another name", "abcd"] {
            #expect(findings.first?.sentence.contains(part) == true, "\(part)")
        }
    }

    @Test(arguments: [
        ("Permission denied", "make its folder writable for the server's user, or set cache.disk.path"),
        ("cannot be opened", "make its folder writable for the server's user, or set cache.disk.path"),
        (
            "another process uses /var/lib/httpdnsd/cache.sqlite",
            "cache.disk.path with a path of its own for each server"
        ),
        ("open /var/lib/httpdnsd/cache.sqlite: Is a directory", "cache.disk.path with a path where nothing else is"),
        (
            "/var/lib/httpdnsd/cache.sqlite is not a cache of this program, and left as it is",
            "cache.disk.path with a path where nothing else is"
        ),
        (
            "make /srv/cache: Read-only file system",
            "ReadWritePaths= with its folder in the unit (`systemctl edit httpdnsd`), or cache.disk.path below /var/lib/httpdnsd"
        ),
        ("No space left on device", "make room on its file system, or set cache.disk.path"),
        ("database or disk is full", "make room on its file system, or set cache.disk.path"),
    ])
    func `the remedy for a cache on disk that is not used fits the reason`(error: String, remedy: String) throws {
        var status = Self.well
        (status.cache.file, status.cache.fileError) = ("/var/lib/httpdnsd/cache.sqlite", error)
        let findings = try Check.diskCache.findings(Patient(status: status).examination)
        #expect(findings?.map(\.remedy) == [remedy])
    }
}
