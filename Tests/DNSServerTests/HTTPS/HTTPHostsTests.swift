import DNSWire
import TestSupport
import Testing

@testable import DNSServer

/// By which names this machine may be asked over plain HTTP.
struct HTTPHostsTests {
    private let hosts = HTTPHosts(machine: "Node7", names: [Name.of("dns.example.net")])

    @Test(arguments: [
        nil, "127.0.0.1", "127.0.0.1:9053", "192.0.2.7", "[::1]:9053", "[2001:db8::1]", "localhost:9053", "LOCALHOST",
        "localhost.", "node7:9053", "Node7", "NODE7.:80", "dns.example.net:",
    ])
    func `an address, localhost, this machine's name and those listed may be asked`(host: String?) {
        #expect(hosts.allow(host))
    }

    @Test(arguments: [
        "evil.example", "evil.example:9053", "127.0.0.1.evil.example", "node7.evil.example", "localhost.evil.example",
        "www.dns.example.net", "", ".", "[::1", ":9053", "[::1].evil.example", "[::1].evil.example:80",
        "[::1]evil.example", "[127.0.0.1]", "[::1]:80:80", "[]", "::1", "localhost:x", "127.0.0.1@evil.example",
        "127.0.0.1, evil.example", "evil.example, 127.0.0.1", "[localhost]",
    ])
    func `any other name, and what is none, may not`(host: String) {
        #expect(!hosts.allow(host))
    }

    @Test func `a machine whose name is full may be asked by the short one too`() {
        let hosts = HTTPHosts(machine: "node7.corp.example")
        #expect(hosts.allow("node7") && hosts.allow("node7.corp.example") && !hosts.allow("corp.example"))
    }

    @Test func `the port by which a client asks is what stands behind the last colon`() {
        let ports = ["192.0.2.7:8080", "[2001:db8::1]:8443", "dns.example.net:1"].map { HTTPHosts.port(of: $0) }
        #expect(ports == [8_080, 8_443, 1])
        for host in [nil, "192.0.2.7", "[2001:db8::1]", "192.0.2.7:", "192.0.2.7:x", "192.0.2.7:65536", ":", ""] {
            #expect(HTTPHosts.port(of: host) == nil, "\(host ?? "none")")
        }
    }

    @Test func `a machine without a name may be asked by no empty one`() {
        #expect(!HTTPHosts(machine: "").allow(""))
    }

    @Test func `a page of another site is known by what its browser says`() {
        for (origin, site, isOther) in [
            (nil, nil, false), (nil, "same-origin", false), (nil, "none", false), (nil, "cross-site", true),
            (nil, "same-site", true), ("http://evil.example", nil, true), ("null", "same-origin", true),
        ] as [(String?, String?, Bool)] {
            var request = HTTPServerRequest()
            (request.fields[.origin], request.fields[.site]) = (origin, site)
            #expect(request.isOfAnotherSite == isOther)
        }
    }
}

extension Name {
    fileprivate static func of(_ text: String) -> Name { (try? Name(text)) ?? .root }
}
