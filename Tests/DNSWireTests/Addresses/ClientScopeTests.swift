import DNSWire
import Testing

/// The clients for which an answer is valid, and their encoding in a key.
struct ClientScopeTests {
    private static let question = Question(name: name("www.example.com"), type: .a)

    private static func scope(_ text: String) throws -> ClientScope { .network(try #require(AddressPrefix(text))) }

    private static func key(_ scope: ClientScope?, _ question: Question = question) -> QueryKey {
        QueryKey(question, dnssecOK: false, checkingDisabled: false, scope: scope)
    }

    private static let networks = [
        "192.0.2.0/24", "192.0.3.0/24", "192.0.2.0/25", "192.0.2.0/23", "192.0.0.0/16", "128.0.0.0/1", "192.0.2.1/32",
        // A, B, C and a, b, c: a name is compared without letter case, a network never is.
        "65.66.67.0/24", "97.98.99.0/24", "65.98.67.0/24", "2001:db8::/56", "2001:db8:0:100::/56", "2001:db8::/57",
        "4142:4344::/32", "6162:6364::/32", "2001:db8::1/128",
    ]

    @Test func `each network, no network and all clients have keys of their own, in any letter case`() throws {
        let scopes = [nil, .undisclosed] + (try Self.networks.map { try Self.scope($0) })
        let keys = scopes.map { scope in Self.key(scope).array.map { asciiLowercased($0) } }
        #expect(Set(keys).count == scopes.count)
    }

    @Test func `a name that ends like a scope is another key`() throws {
        let other = Question(name: name("www.example.com.\\000"), type: .a)
        #expect(Self.key(nil, other).array != Self.key(.undisclosed).array)
        #expect(!Self.key(nil, other).isScoped)
        #expect(Self.key(.undisclosed).isScoped)
    }

    @Test(arguments: networks)
    func `what stands in a key is read back, and nothing else is`(network: String) throws {
        let scope = try Self.scope(network)
        let bytes = Array(Self.key(scope).array.dropFirst(Self.question.name.wire.count).dropLast(5))
        #expect(ClientScope(keyBytes: bytes) == scope)
        #expect(ClientScope(keyBytes: bytes + [0]) == nil)
        #expect(ClientScope(keyBytes: bytes + [0, 0]) == nil)
        #expect(ClientScope(keyBytes: Array(bytes.dropLast())) == nil)
        #expect(ClientScope(keyBytes: []) == nil)
        #expect(ClientScope(keyBytes: [3] + bytes.dropFirst()) == nil)
    }

    @Test func `the longest name and the longest network fit`() throws {
        let name = try Name(wire: NameTests.longest)
        let key = Self.key(try Self.scope("2001:db8::1/128"), Question(name: name, type: .aaaa))
        #expect(key.count == key.storage.count)
        #expect(key.array.starts(with: name.lowercased.wire))
    }

    @Test(
        arguments: [
            ("198.51.100.7", "198.51.100.0/24"), ("198.51.101.7", "198.51.101.0/24"),
            ("2001:db8:1:2ff::1", "2001:db8:1:200::/56"),
            ("127.0.0.1", nil), ("::1", nil), ("10.1.2.3", nil), ("172.16.0.1", nil), ("172.31.255.1", nil),
            ("172.32.0.1", "172.32.0.0/24"), ("192.168.1.1", nil), ("192.169.1.1", "192.169.1.0/24"),
            ("169.254.1.1", nil),
            ("100.64.0.1", nil), ("100.127.0.1", nil), ("100.128.0.1", "100.128.0.0/24"), ("0.0.0.0", nil),
            ("224.0.0.1", nil), ("255.255.255.255", nil), ("fe80::1", nil), ("fd00::1", nil), ("ff02::1", nil),
            ("::ffff:198.51.100.7", nil),
        ] as [(String, String?)])
    func `a client's network is sent unless its address means nothing elsewhere`(client: String, network: String?)
        throws
    {
        let client = try #require(IPAddress(client))
        #expect(ClientScoping(bits: 24).network(of: client) == network.flatMap { AddressPrefix($0) })
        #expect(ClientScoping(bits: 24).scope(of: client, hidesNetwork: true) == .undisclosed)
        #expect((ClientScoping(bits: 24).scope(of: client, hidesNetwork: false) == .undisclosed) == (network == nil))
    }

    @Test(arguments: [(8, 40), (16, 48), (24, 56), (32, 56)])
    func `of an IPv6 address 32 bits more are sent, at most 56`(bits: Int, bits6: Int) {
        #expect(ClientScoping(bits: bits).bits6 == bits6)
    }

    @Test(
        arguments: [
            ([EDNSOption(code: .clientSubnet, data: [0, 1, 0, 0])], true),
            ([EDNSOption(code: .clientSubnet, data: [0, 2, 0, 0])], true),
            (
                [EDNSOption(code: .padding, data: [0, 0, 0]), EDNSOption(code: .clientSubnet, data: [0, 1, 0, 0])], true
            ),
            ([EDNSOption(code: .clientSubnet, data: [0, 1])], true),
            ([EDNSOption(code: .clientSubnet, data: [0, 1, 24, 0, 192, 0, 2])], false),
            ([EDNSOption(code: .padding, data: [0, 8, 0, 4, 0, 1, 0, 0])], false), ([], false), (nil, false),
        ] as [([EDNSOption]?, Bool)])
    func `a client forbids sending its network with a prefix length of 0`(options: [EDNSOption]?, hides: Bool) {
        let edns = options.map { EDNS(options: $0) }
        let bytes = Message(id: 1, flags: .recursionDesired, questions: [Self.question], edns: edns).encoded
        let query = Query.read(bytes.span)
        #expect(query?.fault == .noError)
        #expect(query?.hidesNetwork(in: bytes.span) == hides)
    }
}
