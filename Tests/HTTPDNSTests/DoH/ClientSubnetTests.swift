import DNSWire
import HTTPDNS
import Testing

/// How a client's network is sent to each service.
struct ClientSubnetTests {
    private static func question(
        _ network: String = "203.0.113.0/24", _ types: [RecordType] = [.a]
    ) throws -> UpstreamQuestion {
        let subnet: AddressPrefix = try #require(AddressPrefix(network))
        return UpstreamQuestion(name: name("www.example.com"), types: types, clientNetwork: subnet)
    }

    @Test func `Aliyun gets the network's first address, outside the signature`() throws {
        #expect(
            try AliyunRequestTests.signing.request(for: Self.question(), at: 1_699_999_400).target
                == "/139450/sign_d?host=www.example.com&query=4&ip=203.0.113.0&t=1700000000"
                + "&s=46667e265e1d713ff6ce351585a707b8")
        #expect(
            try AliyunRequestTests.unsigned.request(for: Self.question("2001:db8::/56"), at: 0).target
                == "/139450/d?host=www.example.com&query=4&ip=2001%3Adb8%3A%3A")
    }

    /// `printf` of the sorted parameters through `openssl dgst -sha256 -mac HMAC -macopt hexkey:0123…cdef`.
    @Test func `Aliyun's second version gets it signed, or inside what is encrypted`() throws {
        #expect(
            try AliyunV2Tests.format().request(for: Self.question(), at: 1_699_999_400).target
                == "/v2/d?id=139450&m=0&dn=www.example.com&q=4&cip=203.0.113.0&v=1.0&exp=1700000000&s="
                + "6396455b9fcba495fd12da1998fe2d6f61321f02bf510311f36d232961d92928")
        let target = try AliyunV2Tests.format(.cbc(AliyunV2Tests.key)).request(
            for: Self.question(), at: 1_699_999_400
        ).target
        #expect(!target.contains("cip") && !target.contains("203.0.113"))
        // {"dn":"www.example.com","q":"4","cip":"203.0.113.0"} and its padding are four blocks, after the IV.
        let sealed = try #require(target.split(separator: "enc=").last?.prefix { $0 != "&" })
        #expect(sealed.count == 2 * (16 + 64))
    }

    @Test func `Tencent gets it encrypted like the name, as its page wants it`() throws {
        var question = try Self.question()
        // A single address, as in the vector.
        question.clientNetwork = AddressPrefix("203.0.113.7/32")
        #expect(
            try TencentTests.aes.request(for: question, at: 0).target
                .hasSuffix("&ip=000102030405060708090a0b0c0d0e0fbd02a139376986145c96a90ae9db49c2"))
        #expect(
            try TencentTests.des.request(for: question, at: 0).target
                .hasSuffix("&ip=97b3a76f5f10b00c15fceddf42950123"))
        #expect(try TencentTests.token.request(for: question, at: 0).target.hasSuffix("&ip=203.0.113.7"))
    }

    @Test func `DoH in JSON gets the network with its length`() throws {
        #expect(
            try DoHJSONFormat().request(for: Self.question(), at: 0).target
                == "/resolve?name=www.example.com&type=A&edns_client_subnet=203.0.113.0%2F24")
    }

    @Test(
        arguments: [
            ("203.0.113.0/24", "0008 0007 0001 18 00 cb0071"), ("203.0.96.0/19", "0008 0007 0001 13 00 cb0060"),
            ("2001:db8:1:200::/56", "0008 000b 0002 38 00 20010db8000102"), ("0.0.0.0/0", "0008 0004 0001 00 00"),
        ])
    func `DoH gets it as an option of the message, with no more of the address than counts`(
        network: String, option: String
    ) throws {
        let request = try DoHFormat().request(for: Self.question(network), at: 0)
        let message = try DoHRequestTests.message(request)
        let length = hex(option).count
        #expect(
            message.suffix(length + 11)
                == hex("00 0029 1000 00000000") + [0, UInt8(length)] + hex(option))
    }

    @Test func `padding comes behind it and fills to the block`() throws {
        let request = try DoHFormat(padsQueries: true).request(for: Self.question(), at: 0)
        let message = try MessageParser.parse(DoHRequestTests.message(request))
        #expect(try DoHRequestTests.message(request).count == 128)
        #expect(message.edns?.options.map(\.code) == [.clientSubnet, .padding])
    }

    /// The outcome of a response with this client-subnet option.
    private func outcome(
        _ data: [UInt8]?, to network: String = "203.0.113.0/24", isSent: Bool = true
    ) throws -> ProviderOutcome {
        var question = try Self.question(network)
        if !isSent { question.clientNetwork = nil }
        var reply = Message(
            flags: [.response, .recursionAvailable], questions: [Question(name: question.name, type: .a)])
        reply.answers = Answer(name: question.name, addresses: [.v4(0xc000_0201)], ttl: 60).answers
        reply.edns = EDNS(options: data.map { [EDNSOption(code: .clientSubnet, data: $0)] } ?? [])
        return DoHFormat().outcome(
            of: HTTPResponse(status: 200, contentType: "application/dns-message", body: reply.encoded), to: question)
    }

    @Test(
        arguments: [
            [0, 1, 24, 0, 203, 0, 114], [0, 1, 16, 0, 203, 0], [0, 2, 24, 0, 203, 0, 113], [0, 1, 24, 0], [0, 1],
        ] as [[UInt8]])
    func `a reply for another network is not used`(data: [UInt8]) throws {
        #expect(try outcome(data) == .failure(.unusable("the reply is for another network of clients")))
    }

    @Test(arguments: [nil, [0, 1, 24, 16, 203, 0, 113], [0, 1, 24, 24, 203, 0, 113]] as [[UInt8]?])
    func `a reply for this network, or for all, is used`(data: [UInt8]?) throws {
        guard case .success = try outcome(data) else { return #expect(Bool(false)) }
        guard case .success = try outcome(data, isSent: false) else { return #expect(Bool(false)) }
    }

    @Test func `of a network of length 0 the reply has both lengths, and no address`() throws {
        guard case .success = try outcome([0, 1, 0, 0], to: "0.0.0.0/0") else { return #expect(Bool(false)) }
        for data in [[0, 1, 0], [0, 1, 0, 0, 203]] as [[UInt8]] {
            #expect(
                try outcome(data, to: "0.0.0.0/0")
                    == .failure(.unusable("the reply is for another network of clients")))
        }
    }
}
