import Testing

@testable import Admin

/// Reports as the server writes them, for programs and for people.
struct ReportTests {
    @Test func `a status says in words and in JSON what is so`() {
        var status = StatusReport()
        status.version = "1.2.3"
        status.uptime = 61
        status.isOn = false
        status.listen = ["127.0.0.1:53", "[::1]:53"]
        status.absent = ["[::1]:53"]
        var provider = StatusReport.Provider()
        provider.name = "a \"quoted\" \n name\u{7f}"
        provider.isAuthenticated = false
        provider.state = .refused
        provider.retry = 30
        var address = StatusReport.Address()
        address.address = "192.0.2.1:443"
        address.state = .inBackoff
        address.lastError = "no answer in time"
        address.lastErrorAge = 2
        provider.addresses = [address]
        status.providers = [provider]
        status.localDNS = [.init(address: "192.0.2.53:53", state: .probeDue, retry: nil)]
        status.forwards = [.init(suffixes: ["corp.example"], servers: status.localDNS)]
        status.policy.url = "https://policy.example.com/a"
        (status.policy.serial, status.policy.expires) = (7, "2030-01-31T00:00:00Z")
        (status.policy.state, status.policy.changes) = (.inForce, ["switches HTTPDNS off"])
        (status.policy.switchesOff, status.policy.fetchAge) = (true, 61)
        status.policy.problem = "no answer in time"
        status.cache.entries = 7
        (status.refused, status.overloads) = (12, 3)
        (status.networkChanges, status.networkChangeAge) = (3, 12)
        status.clock = "is before this version was released"
        status.portal = "10.0.0.1"
        status.interception = "0123456789abcdef0123"
        status.nat64 = "64:ff9b::/96"
        #expect(status.json.contains("\"network_changes\":3"))
        #expect(status.text.contains("refused   12 queries of clients that are not in listen.allow"))
        #expect(status.text.contains("overload  3 queries beyond what the server can take"))
        #expect(status.text.contains("listen    127.0.0.1:53, [::1]:53 (not on this machine yet)\n"))
        #expect(status.text.contains("policy    serial 7, expires 2030-01-31T00:00:00Z: in force\n"))
        #expect(status.text.contains("fetched 1 min 1 s ago from https://policy.example.com/a"), "\(status.text)")
        #expect(status.text.contains("PROBLEM: no answer in time"))
        #expect(status.text.contains("switch    OFF by the signed policy"))
        #expect(status.text.contains("nat64     64:ff9b::/96 stands for IPv4 addresses"))
        #expect(status.text.contains("clock     this machine's is before this version was released"))
        #expect(status.isCutOff && status.text.contains("LocalDNS gives 10.0.0.1 for unrelated names"))
        #expect(status.text.contains("show one certificate (SHA-256 0123456789abcdef...)"))
        #expect(status.json.contains("\"forgeable\":[\"a \\\"quoted\\\" \\n name\\u007f\"]"))
    }

    @Test func `a server is cut off when it has providers, and none with an address that is asked`() {
        var (status, provider, address) = (StatusReport(), StatusReport.Provider(), StatusReport.Address())
        #expect(!status.isCutOff)
        let states: [(StatusReport.State, StatusReport.State)] = [
            (.used, .used), (.used, .inBackoff), (.refused, .used),
        ]
        let isCutOff = states.map { states in
            (provider.state, address.state) = states
            provider.addresses = [address]
            status.providers = [provider]
            return status.isCutOff
        }
        #expect(isCutOff == [false, true, true])
    }

    @Test func `every property of a report is a member of its object`() {
        let reports: [any JSONRecord] = [
            StatusReport(), StatusReport.Policy(), StatusReport.Cache(), StatusReport.SharedCache(),
            StatusReport.Encrypted(), StatusReport.Apps(), StatusReport.Apps.Requests(result: "", count: 0),
            StatusReport.Apps.Account(id: "", names: 0, limit: 0), StatusReport.Dnstap(), StatusReport.Provider(),
            StatusReport.Address(), StatusReport.Server(address: "", state: .used, retry: nil),
            StatusReport.Forward(suffixes: [], servers: []), CacheReport(), CacheReport.Entry(),
            CachedRecord(), QueryReport(), TraceReport(), TraceReport.Step(milliseconds: 0, kind: "", text: ""),
            WhyReport(lines: []), BadAddressReport(addresses: [], removed: 0),
            BadAddressReport.BadAddress(address: "", weight: 0, fades: 0),
            SwitchReport(isOn: true, isOffByPolicy: false, isStored: true, generation: 0), ReloadReport(),
        ]
        for report in reports {
            // A wrapped property is stored under its name with a line before it.
            #expect(Mirror(reflecting: report).children.allSatisfy { $0.label?.hasPrefix("_") == true }, "\(report)")
        }
    }

    @Test func `an answer for one network says so to people`() {
        var entry = CacheReport.Entry()
        (entry.name, entry.type, entry.source) = ("www.example.com", "A", "provider")
        (entry.provider, entry.clients) = ("vendor", "198.51.100.0/24")
        let report = CacheReport(entries: [entry])
        #expect(CacheReport.listText(report.entries.map(\.row)).contains("provider vendor, for 198.51.100.0/24"))
        #expect(report.showText.contains("from provider vendor, for 198.51.100.0/24"))
    }

    @Test func `an answer that is never given says so to people`() {
        var entry = CacheReport.Entry()
        (entry.name, entry.type, entry.status, entry.ttl) = ("www.example.com", "A", "NOERROR", 55)
        #expect(entry.isAnswer && CacheReport(entries: [entry]).showText.hasSuffix("55 s left"))
        entry.isUnusable = true
        let report = CacheReport(entries: [entry])
        #expect(
            !entry.isAnswer && CacheReport.listText(report.entries.map(\.row)).contains("unusable")
                && !CacheReport.listText(report.entries.map(\.row)).contains("55"))
        #expect(report.showText.hasSuffix("unusable"))
    }

    @Test func `where nothing is cached, the name is said as it was written`() {
        let (shown, asked) = (
            CacheReport().output(for: "WWW.example"), CacheReport().output(for: "a.example", ["A", "MX"])
        )
        #expect(shown.remarks == ["nothing is cached under WWW.example"] && shown.exitStatus == 1)
        #expect(asked.remarks == ["a.example A MX is not cached"] && asked.text.isEmpty && asked.exitStatus == 1)
    }

    @Test func `the list of cached answers fits a terminal, with long names and addresses on their own lines`() {
        let long = String(repeating: "a", count: 60) + ".example.com"
        let entries = ["www.example.com", long].map { name in
            var entry = CacheReport.Entry()
            (entry.name, entry.type, entry.status, entry.ttl) = (name, "AAAA", "NOERROR", 86_400)
            (entry.age, entry.source, entry.provider) = (100_000, "provider", "alidns")
            entry.addresses = (1...4).map { "2001:db8:1111:2222:3333:4444:5555:\($0)" }
            return entry
        }
        let lines = CacheReport.listText(entries.map(\.row)).split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= 80 }, "\(lines)")
        #expect(lines.filter { $0.contains(long) } == [Substring(long)])
        #expect(lines.filter { $0.contains("2001:db8:1111:2222:3333:4444:5555:4") }.count == 2)
    }

    @Test func `an explanation has fields for programs`() {
        let report = WhyReport(lines: [
            "decision=protect: line 7 of a=b", "type=A route=protect source=provider age=61 reason=no answer=in time",
        ])
        #expect(
            report.json.contains(
                #""entries":[{"decision":"protect: line 7 of a=b"},{"type":"A","route":"protect","source":"provider","age":61,"reason":"no answer=in time"}]"#
            ), "\(report.json)")
    }

    @Test func `for people columns are aligned, and nothing speaks to the terminal`() {
        var status = StatusReport()
        status.uptime = 93_784
        var provider = StatusReport.Provider()
        (provider.name, provider.type, provider.url) = ("vendor", "doh", "http://192.0.2.1")
        provider.isAuthenticated = false
        var address = StatusReport.Address()
        (address.address, address.state, address.retry) = ("192.0.2.1:80", .inBackoff, 3)
        address.lastError = "\u{1b}[2Jgone"
        provider.addresses = [address]
        status.providers = [provider]
        let lines = status.text.split(separator: "\n")
        #expect(lines.first?.contains("up 1 d 2 h") == true)
        #expect(lines.contains("provider  vendor: doh at http://192.0.2.1, can be forged or replayed on the path"))
        #expect(lines.contains { $0.contains("192.0.2.1:80 in backoff for 3 s") && $0.hasSuffix("\\x1b[2Jgone") })
        let report = BadAddressReport(
            addresses: [
                .init(address: "192.0.2.1", weight: 100, fades: 90),
                .init(address: "2001:db8::1", weight: 50, fades: 60),
            ], removed: 0)
        #expect(
            report.text == """
                ADDRESS      WEIGHT  FADES IN
                192.0.2.1    100%    1 min 30 s
                2001:db8::1  50%     1 min 0 s
                """)
    }

    @Test(arguments: [
        (0, "0 B"), (1_023, "1023 B"), (1_536, "1.5 KiB"), (64 << 20, "64.0 MiB"), (3 << 40, "3072.0 GiB"),
    ])
    func `sizes have a unit`(bytes: Int, text: String) {
        var status = StatusReport()
        status.cache.limit = bytes
        #expect(status.text.contains("of \(text);"))
    }

    @Test func `the bill of a provider is said with its forecast`() {
        var status = StatusReport()
        var provider = StatusReport.Provider()
        (provider.callsToday, provider.callsThisMonth, provider.callsForecast) = (3, 200, 900)
        (provider.billedToday, provider.billedThisMonth, provider.billedForecast) = (30, 2_000, 9_000)
        provider.monthlyLimit = 1_000
        status.providers = [provider]
        #expect(
            status.text.contains(
                "3 calls today, 200 of 1000 calls this month, about 900 by its end;"
                    + " billed as 30 today, 2000 this month, about 9000 by its end"))
    }

    @Test func `what there is one of is named in the singular`() {
        var status = StatusReport()
        (status.reloads, status.networkChanges, status.forgedChecks) = (1, 1, 1)
        (status.flights, status.waiters, status.queries, status.connections) = (1, 2, 1, 0)
        (status.presets, status.lastResorts, status.lastResortAnswers) = (1, 1, 1)
        (status.cache.entries, status.cache.hits, status.cache.misses) = (1, 1, 1)
        (status.cache.file, status.cache.loaded) = ("/cache", 1)
        var provider = StatusReport.Provider()
        (provider.callsToday, provider.callsThisMonth) = (1, 1)
        var address = StatusReport.Address()
        (address.requests, address.failures) = (1, 2)
        provider.addresses = [address]
        status.providers = [provider]
        for text in [
            "reloaded 1 time,", "changed 1 time,", "1 check found", "1 flight, 2 waiters, 1 query, 0 TCP connections",
            "1 name, 1 in the last resort, which answered 1 time", "1 answer,", "1 hit, 1 miss,", "1 answer loaded",
            "1 call today", "1 request, 2 failures",
        ] { #expect((status.text + "\n").contains(text)) }
        status.providers[0].dailyLimit = 100
        #expect(status.text.contains("1 of 100 calls today, 1 call this month"))
    }
}
