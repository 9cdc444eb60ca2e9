import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// Addresses that no answer for a protected name may contain.
@Suite(.onLoop) struct AddressFilterTests {
    private static func name(_ text: String) -> Name { (try? Name(text)) ?? .root }

    private static let bogus = AddressFilter(
        bogus: ["203.0.113.0/24", "2001:db8:bad::1"].compactMap { AddressPrefix($0) })
    private static let noPrivate = AddressFilter(dropsPrivate: true, privateNames: [name("corp.example")])

    private func key(_ name: String) -> FlightKey {
        FlightKey(
            name: Self.name(name), type: .a, route: .protect(explicit: false), dnssecOK: false, checkingDisabled: false)
    }

    private func answer(_ addresses: String...) -> UpstreamResult {
        let name = Self.name("www.example.com")
        return .answer(
            Answer(
                responseCode: .noError,
                answers: addresses.compactMap { IPAddress($0).map { Record(name: name, address: $0, ttl: 300) } }))
    }

    private func addresses(_ result: UpstreamResult) -> [String]? {
        guard case .answer(let answer) = result else { return nil }
        return answer.addresses.map(\.description)
    }

    @Test func `bogus addresses are dropped, and the others stay in their order`() {
        let left = Self.bogus.admitted(
            answer("192.0.2.1", "203.0.113.7", "192.0.2.2"), .a, to: key("www.example.com"))
        #expect(addresses(left) == ["192.0.2.1", "192.0.2.2"])
    }

    @Test func `an answer of bogus addresses alone is none`() {
        let left = Self.bogus.admitted(answer("2001:db8:bad::1"), .a, to: key("www.example.com"))
        #expect(left == .failure(.forged("every address is one of answers.bogus")))
    }

    @Test(arguments: [
        "10.1.2.3", "192.168.0.1", "127.0.0.1", "0.0.0.0", "169.254.1.1", "100.64.0.1", "fd00::1", "::1", "fe80::1",
        "fec0::1", "0.1.2.3", "::ffff:127.0.0.1", "::ffff:192.168.1.1", "::192.168.1.1", "64:ff9b::10.1.2.3",
        "2002:c0a8:101::1",
    ])
    func `an answer of local addresses alone becomes NODATA for a minute`(local: String) {
        let left = Self.noPrivate.admitted(answer(local), .a, to: key("www.example.com"))
        guard case .answer(let answer) = left else {
            Issue.record("a failure")
            return
        }
        #expect(answer.addresses.isEmpty && answer.responseCode == .noError && answer.authorities.count == 1)
        #expect(answer.authorities.first?.ttl == 60)
    }

    @Test func `a listed name may have local addresses, and a public address passes`() {
        #expect(
            addresses(Self.noPrivate.admitted(answer("10.1.2.3"), .a, to: key("db.corp.example"))) == ["10.1.2.3"])
        let mixed = Self.noPrivate.admitted(answer("10.1.2.3", "192.0.2.1"), .a, to: key("www.example.com"))
        #expect(addresses(mixed) == ["192.0.2.1"])
    }

    @Test(arguments: ["::ffff:203.0.113.7", "::203.0.113.7", "64:ff9b::203.0.113.7", "2002:cb00:7107::1"])
    func `an IPv6 address that stands for a bogus IPv4 address is bogus`(address: String) {
        let left = Self.bogus.admitted(answer(address), .a, to: key("www.example.com"))
        #expect(left == .failure(.forged("every address is one of answers.bogus")))
    }

    @Test(arguments: ["64:ff9b::192.0.2.1", "::ffff:192.0.2.1", "2002:c000:201::1", "2001:db8::c0a8:101"])
    func `an IPv6 address that stands for a public one, or for none, passes`(address: String) {
        let filter = AddressFilter(bogus: ["203.0.113.0/24"].compactMap { AddressPrefix($0) }, dropsPrivate: true)
        let answer = answer(address)
        #expect(filter.admitted(answer, .a, to: key("www.example.com")) == answer)
    }

    @Test func `without lists everything passes as it is`() {
        let result = answer("10.1.2.3", "203.0.113.7")
        #expect(AddressFilter().admitted(result, .a, to: key("www.example.com")) == result)
    }

    @Test @Loop func `a provider that gives bogus addresses alone is followed by LocalDNS, and asked once`() async {
        let network = LookupNetwork()
        network.filter = Self.bogus
        network.first.behaviour = .addresses("203.0.113.1")
        network.localDNS.behaviour = .addresses("192.0.2.9")
        await network.fly([.a])
        #expect(network.addresses(.a) == ["192.0.2.9"])
        #expect(network.first.asked.count == 1 && network.second.asked.isEmpty)
        #expect(network.first.health.isUsable)
    }

    @Test @Loop func `LocalDNS's bogus addresses are not given either`() async {
        let network = LookupNetwork()
        network.filter = Self.bogus
        network.first.behaviour = .failure(.responseCode(.serverFailure))
        network.localDNS.behaviour = .addresses("203.0.113.1")
        await network.fly([.a])
        let reason = "HTTPDNS: answered SERVFAIL; LocalDNS: every address is one of answers.bogus"
        #expect(network.results[.a] == .failure(.unusable(reason)))
    }

    @Test @Loop func `the local address of a portal is given for a portal check, which shows the portal`() async {
        let network = LookupNetwork()
        network.filter = Self.noPrivate
        network.localDNS.behaviour = .addresses("192.168.1.1")
        await network.fly([.a], route: .portal)
        #expect(network.addresses(.a) == ["192.168.1.1"])
    }
}
