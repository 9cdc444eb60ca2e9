import DNSCache
import DNSResolver
import DNSWire
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer

/// Every rule about a message that is applied before the resolver is asked, with raw bytes.
@Suite struct QueryHandlerTests {
    private let cache = MemoryCache(memory: 1 << 20)
    private let generation = PolicyGeneration()

    /// How a message is handled, and the response.
    private func handle(
        _ message: [UInt8], from client: String = "127.0.0.1", over transport: Transport = .udp,
        allow: String = "127.0.0.0/8", scoping: ClientScoping? = nil
    ) throws -> (disposition: QueryHandler.Disposition, bytes: [UInt8]) {
        let access = AccessList([try #require(AddressPrefix(allow))])
        let handler = QueryHandler(
            cache: cache, generation: generation,
            rules: SharedClientRules(ClientRules(access: access, scoping: scoping)),
            keepalive: 100)
        let client = try #require(IPAddress(client))
        var disposition = QueryHandler.Disposition.ignore
        let bytes = [UInt8](capacity: transport == .udp ? 1_232 : 65_535) { output in
            disposition = handler.handle(message.span, from: client, over: transport, now: .bootTime, into: &output)
        }
        return (disposition, bytes)
    }

    @Test func `a new access list counts from the next generation on`() throws {
        let shared = SharedClientRules(ClientRules(access: AccessList([try #require(AddressPrefix("127.0.0.0/8"))])))
        var handler = QueryHandler(cache: cache, generation: generation, rules: shared, keepalive: 100)
        func isRefused(_ client: String) throws -> Bool {
            let client = try #require(IPAddress(client))
            let bytes = [UInt8](capacity: 1_232) { output in
                _ = handler.handle(Self.sample.span, from: client, over: .udp, now: .bootTime, into: &output)
            }
            return !bytes.isEmpty && bytes[3] & 15 == ResponseCode.refused.rawValue
        }
        #expect(try isRefused("192.0.2.1"))
        #expect(try !isRefused("127.0.0.1"))
        shared.replace(with: ClientRules(access: AccessList([try #require(AddressPrefix("192.0.2.0/24"))])))
        #expect(!handler.isOutdated)
        generation.advance()
        #expect(handler.isOutdated)
        handler = handler.updated
        #expect(try !isRefused("192.0.2.1"))
        #expect(try isRefused("127.0.0.1"))
    }

    private func reply(
        _ message: [UInt8], from client: String = "127.0.0.1", over transport: Transport = .udp
    ) throws -> TestMessage {
        let (disposition, bytes) = try handle(message, from: client, over: transport)
        try #require(disposition == .reply)
        return try TestMessage(decoding: bytes)
    }

    /// ID 0x1234, RD, one question: `wWw.Example` A IN.
    private static let sample: [UInt8] =
        [0x12, 0x34, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0]
        + [3] + Array("wWw".utf8) + [7] + Array("Example".utf8) + [0, 0, 1, 0, 1]
    private static let question = sample[12...]

    /// The query with some header bytes replaced.
    private func query(_ changes: [Int: UInt8], then tail: [UInt8] = []) -> [UInt8] {
        var bytes = Self.sample
        for (offset, value) in changes { bytes[offset] = value }
        return bytes + tail
    }

    /// An OPT record.
    private func opt(size: UInt16 = 4_096, version: UInt8 = 0, flags: UInt8 = 0, _ options: [UInt8] = []) -> [UInt8] {
        [0, 0, 41, UInt8(size >> 8), UInt8(size & 255), 0, version, flags, 0, 0, UInt8(options.count)] + options
    }

    /// Stores an answer for one scope of clients.
    private func store(_ address: UInt32, for scope: ClientScope?) throws {
        let question = Question(name: try Name("www.example"), type: .a)
        let answer = Answer(name: question.name, addresses: [.v4(address)], ttl: 300)
        cache.store(
            CacheEntry(
                answer: try #require(PackedAnswer(answer, for: question)), storedAt: .bootTime, lifetime: 300,
                generation: generation.current),
            for: QueryKey(question, dnssecOK: false, checkingDisabled: false, scope: scope))
    }

    private static let keepaliveOption: [UInt8] = [0, 11, 0, 0]
    private static let hidingOption: [UInt8] = [0, 8, 0, 4, 0, 1, 0, 0]

    @Test(arguments: [Transport.udp, .tcp], [[], keepaliveOption])
    func `a client gets what is cached for its own network, and nothing of another's`(
        transport: Transport, options: [UInt8]
    ) throws {
        let network = { (text: String) in ClientScope.network(try #require(AddressPrefix(text))) }
        try store(0xc000_0201, for: network("198.51.100.0/24"))
        try store(0xc000_0202, for: network("2001:db8:1:200::/56"))
        try store(0xc000_0203, for: .undisclosed)
        func answer(_ client: String, hiding: Bool = false, scoping: ClientScoping? = ClientScoping(bits: 24)) throws
            -> [UInt8]?
        {
            var options = options
            if hiding { options += Self.hidingOption }
            let message = options.isEmpty ? query([:]) : query([11: 1], then: opt(options))
            let (disposition, bytes) = try handle(
                message, from: client, over: transport, allow: client.contains(":") ? "::/0" : "0.0.0.0/0",
                scoping: scoping)
            guard disposition == .reply else { return nil }
            return try TestMessage(decoding: bytes).answers.first?.data
        }
        #expect(try answer("198.51.100.7") == [192, 0, 2, 1])
        #expect(try answer("198.51.100.99") == [192, 0, 2, 1])
        #expect(try answer("198.51.101.7") == nil)
        #expect(try answer("2001:db8:1:2ff::7") == [192, 0, 2, 2])
        #expect(try answer("2001:db8:1:300::7") == nil)
        #expect(try answer("127.0.0.1") == [192, 0, 2, 3])
        #expect(try answer("10.0.0.1") == [192, 0, 2, 3])
        #expect(try answer("198.51.100.7", hiding: true) == [192, 0, 2, 3])
        // Under a policy with other networks, or with none.
        #expect(try answer("198.51.100.7", scoping: ClientScoping(bits: 25)) == nil)
        #expect(try answer("198.51.100.7", scoping: nil) == nil)
        // An answer that is the same for all clients is given to all.
        try store(0xc000_0204, for: nil)
        #expect(try answer("198.51.101.7") == [192, 0, 2, 4])
    }

    @Test func `a query is counted once, whether it is a hit for all, for a network, or none`() throws {
        try store(0xc000_0201, for: .undisclosed)
        for client in ["127.0.0.1", "127.0.0.2", "198.51.100.1"] {
            _ = try handle(query([:]), from: client, allow: "0.0.0.0/0", scoping: ClientScoping(bits: 24))
        }
        #expect(cache.statistics.hits == 2)
        #expect(cache.statistics.misses == 1)
    }

    private func storeAnswer(_ count: Int = 1, type: DNSWire.RecordType = .a) throws {
        let addresses = (0..<count).map { IPAddress.v4(0xc000_0200 + UInt32($0)) }
        let answer = Answer(name: try Name("www.example"), addresses: addresses, ttl: 300)
        try cache.store("www.example", answer, type: type, generation: generation.current)
    }

    // MARK: Messages that get no response

    @Test(arguments: 0..<12)
    func `less than a header is ignored`(count: Int) throws {
        #expect(try handle(Array(Self.sample[..<count])).disposition == .ignore)
    }

    @Test func `a response is ignored, whatever else it says`() throws {
        #expect(try handle(query([2: 0x81])).disposition == .ignore)
        #expect(try handle(query([2: 0xf9, 5: 9])).disposition == .ignore)
        #expect(try handle(query([2: 0x81]), from: "192.0.2.1").disposition == .ignore)
    }

    // MARK: Message rules

    @Test(arguments: 1...15)
    func `an opcode that is not QUERY is not implemented`(opcode: UInt8) throws {
        let reply = try reply(query([2: opcode << 3]))
        #expect(reply.rcode == 4)
        #expect(reply.opcode == UInt16(opcode))
        #expect(reply.id == 0x1234)
    }

    @Test(arguments: 12..<sample.count)
    func `a question cut off anywhere is a format error`(count: Int) throws {
        let reply = try reply(Array(Self.sample[..<count]))
        #expect(reply.rcode == 1)
        #expect(reply.questions.isEmpty)
    }

    @Test func `unknown options and flags change nothing`() throws {
        try storeAnswer()
        let reply = try reply(query([3: 0x40, 11: 1], then: opt(flags: 0x40, [0xff, 0xf0, 0, 3, 1, 2, 3])))
        #expect(reply.rcode == 0)
        #expect(reply.flags == 0x8180)
        #expect(reply.edns?.flags == 0)
        #expect(reply.edns?.options.isEmpty == true)
    }

    // MARK: The response's header and question

    @Test func `the question comes back bit for bit`() throws {
        try storeAnswer()
        let bytes = try handle(Self.sample).bytes
        #expect(bytes[12..<(12 + Self.question.count)] == Self.question)
        #expect(try reply(query([2: 8])).questions.count == 1)
        #expect(try reply(Self.sample, from: "192.0.2.1").questions == [.init("wWw.Example")])
    }

    @Test(arguments: [(0x00, 0x80), (0x01, 0x80)])
    func `RD is copied and RA is set`(second: UInt8, third: UInt8) throws {
        try storeAnswer()
        let reply = try reply(query([2: second]))
        #expect(reply.recursionDesired == (second == 1))
        #expect(reply.recursionAvailable)
        #expect(reply.isResponse)
    }

    @Test func `AA, TC and AD of a query do not come back`() throws {
        try storeAnswer()
        let reply = try reply(query([2: 0x07, 3: 0x20]))
        #expect(!reply.isAuthoritative)
        #expect(!reply.isTruncated)
        #expect(!reply.isAuthenticated)
    }

    @Test func `an OPT record comes only to clients that sent one`() throws {
        try storeAnswer()
        #expect(try reply(Self.sample).edns == nil)
        #expect(try reply(query([11: 1], then: opt())).edns != nil)
        #expect(try reply(Self.sample, from: "192.0.2.1").edns == nil)
    }

    // MARK: Access

    @Test func `a client that is not allowed is refused with an extended error`() throws {
        try storeAnswer()
        let reply = try reply(query([11: 1], then: opt()), from: "192.0.2.1")
        #expect(reply.rcode == 5)
        #expect(reply.extendedErrors == [18])
    }

    // MARK: Cache

    @Test func `what is not cached is a miss, with nothing written`() throws {
        let (disposition, bytes) = try handle(Self.sample)
        #expect(disposition == .miss)
        #expect(bytes.isEmpty)
    }

    @Test func `DO and CD ask for other answers than the plain question`() throws {
        try storeAnswer()
        #expect(try handle(query([11: 1], then: opt(flags: 0x80))).disposition == .miss)
        #expect(try handle(query([3: 0x10])).disposition == .miss)
    }

    @Test func `an answer of an older policy is a miss`() throws {
        try storeAnswer()
        generation.advance()
        #expect(try handle(Self.sample).disposition == .miss)
        #expect(try handle(query([11: 1], then: opt([0, 11, 0, 0])), over: .tcp).disposition == .miss)
    }

    @Test(arguments: [3, 4, 254, 255])
    func `another class than IN is left to the resolver`(class: UInt8) throws {
        try storeAnswer()
        var message = Self.sample
        message[message.count - 1] = `class`
        #expect(try handle(message).disposition == .miss)
    }

    @Test(arguments: [0, 41, 249, 250, 251, 252, 253, 254, 255])
    func `a type that no record has is left to the resolver`(type: UInt8) throws {
        try storeAnswer(type: DNSWire.RecordType(rawValue: UInt16(type)))
        var message = Self.sample
        message[message.count - 3] = type
        #expect(try handle(message).disposition == .miss)
    }

    // MARK: Sizes

    /// Header, question, and 16 bytes for each address.
    @Test(arguments: [
        (nil, 30, false), (nil, 31, true), (0, 29, false), (0, 30, true), (512, 29, false), (512, 30, true),
        (600, 35, false), (600, 36, true), (1_232, 74, false), (1_232, 75, true), (4_096, 74, false),
        (65_535, 75, true),
    ])
    func `a UDP reply is no longer than the client takes, and never over 1232 bytes`(
        size: Int?, count: Int, isTruncated: Bool
    ) throws {
        try storeAnswer(count)
        let message = size.map { query([11: 1], then: opt(size: UInt16($0))) } ?? Self.sample
        let (_, bytes) = try handle(message)
        let reply = try TestMessage(decoding: bytes)
        #expect(bytes.count <= min(max(512, size ?? 512), 1_232))
        #expect(reply.isTruncated == isTruncated)
        #expect(reply.answers.count == (isTruncated ? size == nil ? 30 : 0 : count))
        #expect((reply.edns != nil) == (size != nil))
    }

    @Test func `a TCP reply may have the longest length there is`() throws {
        let record = DNSWire.Record(
            name: try Name("www.example"), type: .a, ttl: 1, rdata: Array(repeating: 1, count: 65_000))
        try cache.store("www.example", Answer(answers: [record]), generation: generation.current)
        let reply = try reply(query([11: 1], then: opt(size: 512)), over: .tcp)
        #expect(!reply.isTruncated)
        #expect(reply.answers.count == 1)
    }

    // MARK: Keepalive

    @Test func `the keepalive option is answered over TCP only`() throws {
        try storeAnswer()
        let message = query([11: 1], then: opt([0, 11, 0, 0]))
        #expect(try reply(message, over: .tcp).edns?.option(11) == [0, 100])
        #expect(try reply(message).edns?.option(11) == nil)
        #expect(try reply(message, from: "192.0.2.1", over: .tcp).edns?.option(11) == [0, 100])
    }

    @Test(arguments: ["127.0.0.1", "192.0.2.1"])
    func `without the keepalive option a reply has none, and over HTTPS in any case`(client: String) throws {
        try storeAnswer()
        let without = query([11: 1], then: opt())
        let message = query([11: 1], then: opt([0, 11, 0, 0]))
        #expect(try reply(without, from: client, over: .tls).edns?.options.contains { $0.code == 11 } == false)
        #expect(try reply(message, from: client, over: .https).edns?.options.contains { $0.code == 11 } == false)
    }
}
