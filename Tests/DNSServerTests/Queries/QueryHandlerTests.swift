import DNSCache
import DNSResolver
import DNSWire
import Platform
import TestServers
import TestSupport
import Testing

@testable import DNSServer

/// Every rule about a message that is applied before the resolver is asked, with raw bytes.
struct QueryHandlerTests {
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

    /// The query with some header bytes replaced.
    private func query(_ changes: [Int: UInt8], then tail: [UInt8] = []) -> [UInt8] {
        var bytes = Self.sample
        for (offset, value) in changes { bytes[offset] = value }
        return bytes + tail
    }

    /// An OPT record.
    private func opt(_ options: [UInt8] = []) -> [UInt8] {
        [0, 0, 41, 16, 0, 0, 0, 0, 0, 0, UInt8(options.count)] + options
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

    @Test(arguments: [false, true])
    func `a query is counted once, whether it is a hit for all, for a network, or none`(hasOption: Bool) throws {
        try store(0xc000_0201, for: .undisclosed)
        // The option of a keepalive time-out, which the reply has then.
        let query = hasOption ? query([11: 1], then: opt([0, 11, 0, 0])) : query([:])
        for client in ["127.0.0.1", "127.0.0.2", "198.51.100.1"] {
            _ = try handle(
                query, from: client, over: hasOption ? .tcp : .udp, allow: "0.0.0.0/0",
                scoping: ClientScoping(bits: 24))
        }
        #expect(cache.statistics.hits == 2)
        #expect(cache.statistics.misses == 1)
    }

    private func storeAnswer(type: DNSWire.RecordType = .a) throws {
        let answer = Answer(name: try Name("www.example"), addresses: [.v4(0xc000_0200)], ttl: 300)
        try cache.store("www.example", answer, type: type, generation: generation.current)
    }

    // MARK: Messages that get no response

    @Test func `a response is ignored, whatever else it says`() throws {
        #expect(try handle(query([2: 0x81])).disposition == .ignore)
        #expect(try handle(query([2: 0xf9, 5: 9])).disposition == .ignore)
        #expect(try handle(query([2: 0x81]), from: "192.0.2.1").disposition == .ignore)
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

    @Test func `an answer of an older policy is a miss`() throws {
        try storeAnswer()
        generation.advance()
        #expect(try handle(Self.sample).disposition == .miss)
        #expect(try handle(query([11: 1], then: opt(Self.keepaliveOption)), over: .tcp).disposition == .miss)
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

    // MARK: Keepalive

    @Test(arguments: ["127.0.0.1", "192.0.2.1"])
    func `the keepalive option is answered where there is a connection, but for HTTPS, and sent to none without it`(
        client: String
    ) throws {
        try storeAnswer()
        let message = query([11: 1], then: opt(Self.keepaliveOption))
        let values: KeyValuePairs<Transport, [UInt8]?> = [.udp: nil, .tcp: [0, 100], .tls: [0, 100], .https: nil]
        for (transport, value) in values {
            #expect(try reply(message, from: client, over: transport).edns?.option(11) == value, "\(transport)")
        }
        #expect(try reply(query([11: 1], then: opt()), from: client, over: .tls).edns?.option(11) == nil)
    }
}
