import DNSResolver
import DNSWire
import Testing

struct RoutePolicyTests {
    @Test func `the longest matching suffix decides`() throws {
        let policy = RoutePolicy(
            protect: [try Name("example.com")], bypass: [try Name("lan.example.com")],
            forward: [[try Name("db.lan.example.com")]])
        #expect(policy.route(for: try Name("www.example.com")) == .protect(explicit: true))
        #expect(policy.route(for: try Name("nas.lan.example.com")) == .bypass)
        #expect(policy.route(for: try Name("a.db.lan.example.com")) == .forward(index: 0))
    }

    @Test
    func `the network answers the reverse names of addresses behind its translator, and of no other ones`() throws {
        let policy = RoutePolicy(translator: NAT64Prefix("64:ff9b::/96"))
        let zeros = String(repeating: "0.", count: 16)
        #expect(try policy.route(for: Name("1.2.0.0.0.0.0.c." + zeros + "b.9.f.f.4.6.0.0.ip6.arpa")) == .bypass)
        #expect(try policy.route(for: Name("1.0.8.b.d.0.1.0.0.2.ip6.arpa")) == .protect(explicit: false))
        #expect(try policy.route(for: Name("1.2.0.192.in-addr.arpa")) == .protect(explicit: false))
    }

    @Test func `a list decides about the reverse names behind a translator all the same`() throws {
        let zone = try Name("b.9.f.f.4.6.0.0.ip6.arpa")
        let policy = RoutePolicy(protect: [zone], translator: NAT64Prefix("64:ff9b::/96"))
        #expect(
            try policy.route(for: Name("1.2.0.0.0.0.0.c.\(String(repeating: "0.", count: 16))\(zone)"))
                == .protect(explicit: true))
    }

    @Test func `at equal length forward wins over bypass, and bypass over protect`() throws {
        let name = try Name("example.com")
        #expect(RoutePolicy(protect: [name], bypass: [name], forward: [[name]]).route(for: name) == .forward(index: 0))
        #expect(RoutePolicy(protect: [name], bypass: [name]).route(for: name) == .bypass)
    }

    @Test func `of two forward entries with the same suffix the first one wins`() throws {
        let name = try Name("example.com")
        #expect(RoutePolicy(forward: [[name], [name]]).route(for: name) == .forward(index: 0))
    }

    @Test func `whether names of no list are protected may be said apart from the list`() throws {
        let (listed, other) = (try Name("a.example"), try Name("www.example.com"))
        #expect(RoutePolicy(protect: [listed], protectsUnlisted: true).route(for: other) == .protect(explicit: false))
        #expect(RoutePolicy(protectsUnlisted: false).route(for: other) == .bypass)
        #expect(RoutePolicy(protect: [listed]) != RoutePolicy(protect: [listed], protectsUnlisted: true))
    }

    @Test func `search domains are the same in any order`() throws {
        let (one, two) = (try Name("a.example"), try Name("b.example"))
        let policy = RoutePolicy(searchDomains: [one, two])
        #expect(policy.hasSearchDomains([two, one]))
        #expect(!policy.hasSearchDomains([one]) && !policy.hasSearchDomains([]))
        #expect(RoutePolicy().hasSearchDomains([]))
    }

    @Test func `with an empty protect list every name that nothing else matches is protected`() throws {
        #expect(RoutePolicy().route(for: try Name("www.example.com")) == .protect(explicit: false))
    }

    @Test func `with a protect list every other name goes to LocalDNS`() throws {
        let policy = RoutePolicy(protect: [try Name("example.com")])
        #expect(policy.route(for: try Name("www.example.net")) == .bypass)
    }

    @Test(arguments: ["server", "com", "."])
    func `a single label never reaches a vendor`(text: String) throws {
        #expect(RoutePolicy().route(for: try Name(text)) == .bypass)
    }

    @Test(arguments: [".", "com", "example"], ["NS", "SOA", "DNSKEY", "RRSIG", "NSEC", "NSEC3PARAM", "CDS"])
    func `what belongs to a delegation of the root and of top-level domains is the providers'`(
        text: String, type: String
    ) throws {
        let (name, type) = (try Name(text), try #require(RecordType(type)))
        #expect(RoutePolicy().route(for: name, type) == .protect(explicit: false))
        #expect(RoutePolicy(mode: .localDNSOnly).route(for: name, type) == .bypass)
        #expect(RoutePolicy(protect: [try Name("example.com")]).route(for: name, type) == .protect(explicit: false))
        #expect(RoutePolicy(providers: [[try Name("example.com")]]).route(for: name, type) == .bypass)
    }

    @Test(arguments: ["A", "AAAA", "HTTPS", "TXT", "MX"])
    func `other types of a single label do not leave the network`(type: String) throws {
        #expect(RoutePolicy().route(for: try Name("printer"), try #require(RecordType(type))) == .bypass)
    }

    @Test(arguments: ["com", "fritz.box", "home.arpa", "168.192.in-addr.arpa", "corp.example"])
    func `DS takes the route of its parent, which signs it`(zone: String) throws {
        let zone = try Name(zone)
        let policy = RoutePolicy(bypass: [try Name("corp.example")])
        #expect(policy.route(for: zone, .ds) == .protect(explicit: false))
        let forward = RoutePolicy(forward: [[zone]])
        #expect(forward.route(for: zone, .ds) == .protect(explicit: false))
        #expect(forward.route(for: try Name("www." + zone.description), .ds) == .forward(index: 0))
    }

    @Test(arguments: ["bank.co.uk", "www.bank.co.uk", "a.b.bank.co.uk"])
    func `the keys above what is protected are the providers', though no list has their names`(listed: String) throws {
        let policy = RoutePolicy(protect: [try Name(listed)])
        let dnskey = try #require(RecordType("DNSKEY"))
        var name = try Name(listed)
        while let parent = name.parent {
            let listed = policy.listed(name) == nil ? Route.protect(explicit: false) : .protect(explicit: true)
            #expect(policy.route(for: name, dnskey) == listed)
            #expect(policy.route(for: name, .ds) == .protect(explicit: false))
            name = parent
        }
    }

    @Test(arguments: ["A", "SOA", "NS", "TXT", "NSEC"])
    func `other types of the names above what is protected go to LocalDNS, as keys of all other names do`(
        type: String
    ) throws {
        let policy = RoutePolicy(protect: [try Name("www.bank.co.uk")], bypass: [try Name("ac.uk")])
        #expect(policy.route(for: try Name("bank.co.uk"), try #require(RecordType(type))) == .bypass)
        for name in ["mail.bank.co.uk", "bank.example.com", "www.ac.uk"] {
            #expect(policy.route(for: try Name(name), try #require(RecordType("DNSKEY"))) == .bypass)
        }
    }

    @Test func `a list that has a name above what is protected decides about its keys`() throws {
        let (zone, dnskey) = (try Name("bank.co.uk"), try #require(RecordType("DNSKEY")))
        let protect: NameList = [try Name("www.bank.co.uk")]
        #expect(RoutePolicy(protect: protect, bypass: [zone]).route(for: zone, dnskey) == .bypass)
        #expect(RoutePolicy(protect: protect, forward: [[zone]]).route(for: zone, dnskey) == .forward(index: 0))
        #expect(RoutePolicy(mode: .localDNSOnly, protect: protect).route(for: zone, dnskey) == .bypass)
    }

    @Test func `a single label that protect lists is protected`() throws {
        let name = try Name("intranet")
        #expect(RoutePolicy(protect: [name]).route(for: name) == .protect(explicit: true))
    }

    @Test(arguments: ["co.uk", "bank.example"])
    func `the network's search list chooses no route`(domain: String) throws {
        let policy = RoutePolicy(searchDomains: [try Name(domain)])
        let name = try Name("www.\(domain)")
        #expect(policy.route(for: name) == RoutePolicy().route(for: name))
        let other = try Name("www.example.net")
        #expect(policy.isInSearchDomain(name) && !policy.isInSearchDomain(other))
    }

    @Test(arguments: [["example.com"], []])
    func `a name that no provider may answer is not protected`(protect: [String]) throws {
        let list = NameList(try (protect + protect.map { _ in "example.net" }).map { try Name($0) })
        let policy = RoutePolicy(protect: list, providers: [[try Name("example.com")]])
        #expect(policy.route(for: try Name("www.example.com")) == .protect(explicit: true))
        #expect(policy.route(for: try Name("www.example.net")) == .bypass)
    }

    @Test func `beside a provider for some names, one for all names protects the others`() throws {
        let policy = RoutePolicy(providers: [[try Name("example.com")], []])
        #expect(policy.route(for: try Name("www.example.com")) == .protect(explicit: true))
        #expect(policy.route(for: try Name("www.example.net")) == .protect(explicit: false))
    }

    @Test func `without a provider no name is protected`() throws {
        let policy = RoutePolicy(protect: [try Name("example.com")], providers: [])
        #expect(policy.route(for: try Name("www.example.com")) == .bypass)
    }

    @Test func `in mode localdns-only nothing is protected and forward still holds`() throws {
        let policy = RoutePolicy(
            mode: .localDNSOnly, protect: [try Name("example.com")], forward: [[try Name("db.example.com")]])
        #expect(policy.route(for: try Name("www.example.com")) == .bypass)
        #expect(policy.route(for: try Name("a.db.example.com")) == .forward(index: 0))
    }

    @Test(arguments: [
        "nas.lan", "nas.HOME", "git.corp.internal", "wiki.intranet", "x.private", "git.corp", "pc.localdomain",
        "web.docker", "db.service.consul", "kubernetes.default.svc", "_ldap._tcp", "_ldap._tcp.dc._msdcs",
        "pc.workgroup",
        "nas.home.arpa", "home.arpa", "nas.fritz.box", "1.0.168.192.in-addr.arpa", "1.0.0.10.in-addr.arpa",
        "1.0.31.172.in-addr.arpa", "1.0.254.169.in-addr.arpa", "1.0.127.100.in-addr.arpa", "1.0.c.f.ip6.arpa",
        "1.0.d.f.ip6.arpa", "1.0.b.e.f.ip6.arpa",
    ])
    func `a name of the network goes to LocalDNS`(text: String) throws {
        #expect(RoutePolicy().route(for: try Name(text)) == .bypass)
        #expect(RoutePolicy(protect: [.root]).route(for: try Name(text)) == .bypass)
    }

    @Test(arguments: [
        "www.plan.example", "lan.example.com", "box", "1.0.32.172.in-addr.arpa", "1.0.128.100.in-addr.arpa",
        "nas.local", "1.0.0.127.in-addr.arpa", "1.0.c.e.f.ip6.arpa", "1.0.0.2.ip6.arpa",
    ])
    func `a name beside those is not the network's`(text: String) throws {
        #expect(RoutePolicy().networkZone(of: try Name(text)) == nil)
    }

    @Test func `what a list or a provider names is not the network's`() throws {
        let (name, suffix) = (try Name("git.corp"), try Name("corp"))
        #expect(RoutePolicy(protect: [suffix]).route(for: name) == .protect(explicit: true))
        #expect(RoutePolicy(forward: [[suffix]]).route(for: name) == .forward(index: 0))
        #expect(RoutePolicy(providers: [[suffix]]).route(for: name) == .protect(explicit: true))
        let reverse = try Name("1.0.168.192.in-addr.arpa")
        #expect(RoutePolicy(forward: [[try Name("in-addr.arpa")]]).route(for: reverse) == .forward(index: 0))
        #expect(RoutePolicy(forward: [[.root]]).route(for: reverse) == .forward(index: 0))
    }

    @Test func `another list of the network's names replaces the built-in one`() throws {
        let policy = RoutePolicy(networkNames: [try Name("office.example")])
        #expect(policy.route(for: try Name("pc.office.example")) == .bypass)
        #expect(policy.route(for: try Name("nas.lan")) == .protect(explicit: false))
    }

    @Test func `of local only what is within a search domain is the network's`() throws {
        let policy = RoutePolicy(searchDomains: [try Name("corp.local"), try Name("example.com")])
        #expect(policy.route(for: try Name("dc.CORP.local")) == .bypass)
        #expect(policy.networkZone(of: try Name("printer.local")) == nil)
        #expect(policy.route(for: try Name("www.example.com")) == .protect(explicit: false))
        #expect(policy != RoutePolicy(searchDomains: [try Name("example.com")]))
    }

    @Test(arguments: [1, 15, 30, 62, 63, 64, 126, 127]) func `an entry is found whatever its length`(labels: Int) throws
    {
        let entry = try Name(Array(repeating: "a", count: labels).joined(separator: "."))
        let policy = RoutePolicy(protect: [entry])
        #expect(policy.route(for: entry) == .protect(explicit: true))
        #expect(try policy.route(for: Name("b.example.com")) == .bypass)
    }

    private func many(_ count: Int, prefix: String = "name") throws -> NameList {
        NameList(try (0..<count).map { try Name("\(prefix)\($0).example") })
    }

    @Test(arguments: [1000, 98_000, 100_000])
    func `an entry of a long list takes its bytes and at most 32 more`(count: Int) throws {
        let (protect, bypass) = (try many(count / 2, prefix: "p"), try many(count - count / 2, prefix: "b"))
        let policy = RoutePolicy(protect: protect, bypass: bypass)
        // The size to which the allocator rounds up, and the entry that is always there.
        let names = protect.byteCount + bypass.byteCount
        #expect(policy.listMemory <= names + names / 50 + 32 * count + 1024)
        #expect(protect.capacity <= protect.byteCount + protect.byteCount / 50 + 64)
    }

    @Test func `each of many entries is found, and names beside them are not`() throws {
        let policy = RoutePolicy(protect: try many(20_000, prefix: "p"), bypass: try many(20_000, prefix: "B"))
        for number in 0..<20_000 {
            #expect(policy.listed(try Name("www.P\(number).example")) == .protect(explicit: true))
            #expect(policy.listed(try Name("b\(number).example")) == .bypass)
            #expect(policy.listed(try Name("c\(number).example")) == nil)
        }
    }

    @Test func `the same lists in another order, with doubles, are the same policy`() throws {
        let names = try (0..<1000).map { try Name("name\($0).example") }
        let policy = RoutePolicy(protect: NameList(names), bypass: [try Name("lan")])
        #expect(policy == RoutePolicy(protect: NameList(names.reversed() + names), bypass: [try Name("LAN")]))
        #expect(policy != RoutePolicy(protect: NameList(names.dropLast()), bypass: [try Name("lan")]))
        #expect(policy != RoutePolicy(protect: NameList(names.dropLast() + [try Name("x")]), bypass: [try Name("lan")]))
        #expect(policy != RoutePolicy(protect: NameList(names + [try Name("lan")])))
    }
}
