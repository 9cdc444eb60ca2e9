import DNSResolver
import DNSWire
import Testing

struct LocalAnswersTests {
    private func reply(
        _ name: String, _ type: RecordType = .a, class: RecordClass = .internet, policy: RoutePolicy = RoutePolicy(),
        local: LocalAnswers = LocalAnswers()
    ) throws -> LocalAnswers.Reply? {
        local.reply(to: Question(name: try Name(name), type: type, class: `class`), policy: policy)
    }

    private func answer(
        _ name: String, _ type: RecordType = .a, class: RecordClass = .internet, policy: RoutePolicy = RoutePolicy(),
        local: LocalAnswers = LocalAnswers()
    ) throws -> Answer {
        guard case .answer(let answer)? = try reply(name, type, class: `class`, policy: policy, local: local) else {
            throw Missing()
        }
        return answer
    }

    /// The answer where there is no LocalDNS; nil: it is not one of the network's names.
    private func withoutLocalDNS(
        _ name: String, _ type: RecordType, policy: RoutePolicy = RoutePolicy()
    ) throws -> Answer? {
        LocalAnswers().withoutLocalDNS(Question(name: try Name(name), type: type), policy: policy)
    }

    private struct Missing: Error {}

    @Test(arguments: ["localhost", "LOCALHOST", "a.localhost"])
    func `localhost is loopback in both families`(name: String) throws {
        #expect(try answer(name).addresses == [.v4(0x7f00_0001)])
        #expect(try answer(name, .aaaa).addresses == [.v6(1)])
        #expect(try answer(name, .mx).isNegative(for: .mx))
    }

    @Test(arguments: ["localhost", "a.localhost", "www.invalid", "x.onion"])
    func `what means the same everywhere is not overridden by presets`(name: String) throws {
        var presets = Presets()
        presets.add(try Name(name), addresses: [.v4(1)])
        let local = LocalAnswers(presets: presets)
        #expect(try reply(name, local: local) == reply(name))
    }

    @Test(arguments: ["printer.local", "a.test", "x.service.arpa"])
    func `other special-use names are overridden, and exist then in every type`(name: String) throws {
        var presets = Presets()
        presets.add(try Name(name), addresses: [.v4(1)])
        let local = LocalAnswers(presets: presets)
        guard case .configured(let answer, .preset)? = try reply(name, local: local) else { throw Missing() }
        #expect(answer.addresses == [.v4(1)])
        let text = try self.answer(name, .txt, local: local)
        #expect(text.responseCode == .noError && text.isNegative(for: .txt))
    }

    @Test func `a preset goes before the lists`() throws {
        var presets = Presets()
        presets.add(try Name("db.corp.example"), addresses: [.v4(1)])
        let policy = RoutePolicy(bypass: [try Name("corp.example")], forward: [[try Name("db.corp.example")]])
        guard case .configured? = try reply("db.corp.example", policy: policy, local: LocalAnswers(presets: presets))
        else { throw Missing() }
        #expect(try reply("www.corp.example", policy: policy, local: LocalAnswers(presets: presets)) == nil)
    }

    @Test(arguments: ["www.invalid", "x.onion", "printer.local", "a.test", "b.alt", "x.service.arpa"])
    func `special-use names do not exist`(name: String) throws {
        #expect(try answer(name).responseCode == .nameError)
    }

    /// The network's own names are special-use names only where the configuration says so.
    private let nothingOfTheNetwork = RoutePolicy(networkNames: [])

    @Test(arguments: [
        "1.0.168.192.in-addr.arpa", "5.10.in-addr.arpa", "1.16.172.in-addr.arpa", "1.31.172.in-addr.arpa",
        "1.64.100.in-addr.arpa", "1.127.100.in-addr.arpa", "1.0.0.0.d.f.ip6.arpa", "1.a.e.f.ip6.arpa", "nas.home.arpa",
    ])
    func `private reverse zones and home arpa are asked of the network, or do not exist`(name: String) throws {
        #expect(try reply(name, .ptr) == nil)
        #expect(try answer(name, .ptr, policy: nothingOfTheNetwork).responseCode == .nameError)
    }

    @Test(arguments: ["nas.lan", "nas.home.arpa", "1.0.168.192.in-addr.arpa", "git.corp.internal"])
    func `B13: without LocalDNS a name of the network does not exist, for ten seconds`(name: String) throws {
        let answer = try #require(try withoutLocalDNS(name, .a))
        #expect(answer.responseCode == .nameError)
        #expect(answer.authorities.map(\.type) == [.soa] && answer.authorities.map(\.ttl) == [10])
        #expect(try withoutLocalDNS(name, .a, policy: nothingOfTheNetwork) == nil)
    }

    @Test(arguments: ["home.arpa", "10.in-addr.arpa", "fritz.box"])
    func `without LocalDNS the top of a zone of the network exists`(zone: String) throws {
        for type in [RecordType.a, .ds] {
            let answer = try #require(try withoutLocalDNS(zone, type))
            #expect(answer.responseCode == .noError && answer.isNegative(for: type))
        }
    }

    @Test(arguments: ["1.15.172", "1.32.172", "1.63.100", "1.128.100"])
    func `a public reverse name is asked`(network: String) throws {
        #expect(try reply(network + ".in-addr.arpa", .ptr, policy: nothingOfTheNetwork) == nil)
    }

    @Test(arguments: ["1.0.0.127.in-addr.arpa", "1" + String(repeating: ".0", count: 31) + ".ip6.arpa"])
    func `the reverse name of a loopback address is localhost`(name: String) throws {
        #expect(try answer(name, .ptr).answers.first?.rdata == Name("localhost").wire)
        #expect(try answer(name, .txt).responseCode == .noError)
    }

    @Test(arguments: ["170.0.0.192.in-addr.arpa", "171.0.0.192.in-addr.arpa"])
    func `the reverse names of NAT64's well-known addresses are asked of the network, or are ipv4only arpa`(
        name: String
    ) throws {
        #expect(try reply(name, .ptr) == nil)
        #expect(try reply(name, .ptr, policy: nothingOfTheNetwork) == nil)
        let pointer = try withoutLocalDNS(name, .ptr, policy: nothingOfTheNetwork)
        #expect(try pointer?.answers.first?.rdata == Name("ipv4only.arpa").wire)
    }

    @Test(arguments: ["local", "test", "service.arpa", "127.in-addr.arpa"])
    func `the top of a zone that is served here has an SOA record, and its DS records are the parent's`(
        zone: String
    ) throws {
        let apex = try answer(zone, .soa).answers
        #expect(try apex.map(\.type) == [.soa] && apex.map(\.name) == [Name(zone)])
        #expect(try reply(zone, .ds) == nil)
        #expect(try answer("x." + zone, .ds).responseCode == .nameError)
    }

    @Test func `a negative answer carries the SOA of its zone`() throws {
        let authorities = try answer("printer.local").authorities
        #expect(authorities.map(\.type) == [.soa])
        #expect(authorities.first?.name == (try Name("local")))
    }

    @Test func `a list entry, and a provider's names, take a special-use name over`() throws {
        let forwarding = RoutePolicy(forward: [[try Name("local")]])
        #expect(try reply("printer.local", policy: forwarding) == nil)
        for zone in ["local", "alt", "test", "lab.home.arpa", "1.168.192.in-addr.arpa"] {
            let policy = RoutePolicy(providers: [[try Name(zone)]])
            #expect(try reply("printer.\(zone)", policy: policy) == nil)
        }
    }

    @Test func `a list entry for the root takes nothing over`() throws {
        let policy = RoutePolicy(bypass: [.root])
        #expect(try answer("printer.local", policy: policy).responseCode == .nameError)
    }

    @Test(arguments: ["localhost", "www.invalid", "x.onion"])
    func `localhost, invalid and onion cannot be taken over`(name: String) throws {
        let policy = RoutePolicy(bypass: [try Name(name)])
        #expect(try reply(name, policy: policy) != nil)
    }

    @Test func `there is no encrypted resolver to discover`() throws {
        let answer = try answer("_dns.resolver.arpa", .svcb)
        #expect(answer.responseCode == .noError && answer.answers.isEmpty)
    }

    @Test func `a client that asks finds this server encrypted, and nothing of any other type`() throws {
        let designated = DesignatedResolver(
            name: try Name("dns.example.com"), addresses: [.v4(0xc000_0235), .v6(0x2001_0db8 << 96 | 0x53)], tls: 853,
            https: (8443, "/dns-query"))
        let local = LocalAnswers(designated: designated)
        let answer = try answer("_dns.resolver.arpa", .svcb, local: local)
        try #require(answer.answers.compactMap { ServiceBinding(rdata: $0.rdata) }.count == 2)
        let target = try Name("dns.example.com").wire
        let hints: [UInt8] =
            [0, 4, 0, 4, 192, 0, 2, 53, 0, 6, 0, 16] + [0x20, 0x01, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [
                0x53
            ]
        #expect(
            answer.answers[0].rdata == [0, 1] + target + [0, 1, 0, 3, 2] + Array("h2".utf8) + [0, 3, 0, 2, 32, 251]
                + hints + [0, 7, 0, 16] + Array("/dns-query{?dns}".utf8))
        #expect(answer.answers[1].rdata == [0, 2] + target + [0, 1, 0, 4, 3] + Array("dot".utf8) + hints)
        #expect(try self.answer("_dns.resolver.arpa", .a, local: local).answers.isEmpty)
    }

    @Test func `without an encrypted listener there is nothing to find`() throws {
        #expect(DesignatedResolver(name: try Name("dns.example.com"), addresses: [], tls: nil, https: nil) == nil)
    }

    @Test func `ipv4only arpa is asked of the network, or shows that there is no NAT64`() throws {
        #expect(try reply("ipv4only.arpa", .aaaa) == nil)
        #expect(try withoutLocalDNS("ipv4only.arpa", .a)?.addresses == [.v4(0xc000_00aa), .v4(0xc000_00ab)])
        #expect(try withoutLocalDNS("ipv4only.arpa", .aaaa)?.isNegative(for: .aaaa) == true)
    }

    @Test(arguments: ["192.168.1.1", "10.0.0.1", "x.example.123"], [RecordType.a, .aaaa, .txt])
    func `a name whose last label is a number does not exist`(name: String, type: RecordType) throws {
        #expect(try answer(name, type).responseCode == .nameError)
    }

    @Test func `a number before the last label is one as any other`() throws {
        #expect(try reply("1.example", .a) == nil)
        #expect(try reply("123.com", .a) == nil)
    }

    @Test func `the name by which browsers look for a reason to keep to the system's resolver does not exist`() throws {
        #expect(try answer("use-application-dns.net").responseCode == .nameError)
        #expect(try reply("use-application-dns.net", local: LocalAnswers(hidesCanary: false)) == nil)
    }

    @Test(arguments: [["64:ff9b::c000:aa", "64:ff9b::c000:ab"], ["2001:db8:64::c000:aa", "2001:db8:64::c000:ab"]])
    func `with a prefix of NAT64 ipv4only arpa shows it, whatever the network says`(addresses: [String]) throws {
        let prefix = try #require(NAT64Prefix(addresses[0].replacing("c000:aa", with: "/96")))
        let policy = RoutePolicy(translator: prefix)
        #expect(
            try answer("ipv4only.arpa", .aaaa, policy: policy).addresses == addresses.compactMap { IPAddress($0) })
        #expect(try answer("ipv4only.arpa", policy: policy).addresses == [.v4(0xc000_00aa), .v4(0xc000_00ab)])
        let pointer = try answer("170.0.0.192.in-addr.arpa", .ptr, policy: policy)
        #expect(try pointer.answers.first?.rdata == Name("ipv4only.arpa").wire)
    }

    @Test func `a list that has ipv4only arpa decides about it, beside a prefix too`() throws {
        let name = try Name("ipv4only.arpa")
        let policy = RoutePolicy(forward: [[name]], translator: NAT64Prefix("64:ff9b::/96"))
        #expect(try reply("ipv4only.arpa", .aaaa, policy: policy) == nil)
    }

    @Test(arguments: [["lan", "168.192.in-addr.arpa"], []])
    func `a list of one's own names of the network leaves ipv4only arpa to it`(list: [String]) throws {
        let policy = RoutePolicy(networkNames: NameList(try list.map { try Name($0) }))
        #expect(try policy.route(for: Name("ipv4only.arpa")) == .bypass)
        #expect(try reply("ipv4only.arpa", .aaaa, policy: policy) == nil)
        #expect(try reply("170.0.0.192.in-addr.arpa", .ptr, policy: policy) == nil)
    }

    @Test(arguments: [RecordType.axfr, .ixfr])
    func `a zone transfer is refused`(type: RecordType) throws {
        guard case .refusal(.refused, _)? = try reply("example.com", type) else {
            Issue.record("not refused")
            return
        }
    }

    @Test(
        arguments: [
            (.a, RecordClass(rawValue: 4)), (RecordType(rawValue: 249), .internet),
            (RecordType(rawValue: 253), .internet),
        ] as [(RecordType, RecordClass)])
    func `a class other than IN is not implemented, nor a type that is no record's`(
        type: RecordType, class: RecordClass
    ) throws {
        guard case .refusal(.notImplemented, _)? = try reply("x", type, class: `class`) else {
            Issue.record("not turned away")
            return
        }
    }

    @Test(arguments: ["version.bind", "version.server", "hostname.bind", "id.server"])
    func `the server is named without its version and its host`(name: String) throws {
        #expect(try answer(name, .txt, class: .chaos).answers.first?.rdata == [8] + Array("httpdnsd".utf8))
    }

    @Test func `an ordinary name is asked`() throws {
        #expect(try reply("www.example.com") == nil)
    }
}
