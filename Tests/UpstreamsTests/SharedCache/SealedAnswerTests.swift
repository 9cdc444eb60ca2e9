import DNSResolver
import DNSWire
import Testing

@testable import Upstreams

struct SealedAnswerTests {
    private static let policy = [UInt8](repeating: 7, count: 16)
    private static let received: Int64 = 1_800_000_000

    private func keys(_ byte: UInt8 = 1) throws -> SharedKeys {
        try #require(SharedKeys(secret: [UInt8](repeating: byte, count: 32)))
    }

    private func question(
        _ name: String = "www.example.com", _ type: RecordType = .a, scope: ClientScope? = nil,
        policy: [UInt8] = policy, dnssecOK: Bool = false, types: [RecordType]? = nil
    ) throws -> SharedQuestion {
        let key = FlightKey(
            name: try Name(name), type: type, route: .protect(explicit: true), dnssecOK: dnssecOK,
            checkingDisabled: false, scope: scope)
        return SharedQuestion(key, types ?? [type], policy: policy)
    }

    private func answer(lifetime: UInt32 = 80, code: ResponseCode = .noError) throws -> SealedAnswer {
        let name = try Name("www.example.com")
        var answer = Answer(name: name, addresses: [.v4(0xc000_0201), .v4(0xc000_0202)], ttl: lifetime)
        answer.responseCode = code
        return SealedAnswer(
            type: .a, answer: answer, received: Self.received, lifetime: lifetime, provider: 1,
            server: "203.0.113.1:443")
    }

    // MARK: The seal

    @Test func `what was sealed for a question is read again for it`() throws {
        let (sealed, question) = (try answer(), try question())
        let value = try #require(sealed.sealed(for: question, by: keys()))
        #expect(SealedAnswer(value, for: question, by: try keys()) == sealed)
    }

    @Test func `a denial is sealed with its SOA record`() throws {
        let denied = Answer.negative(.nameError, name: try Name("www.example.com"), ttl: 30)
        let sealed = SealedAnswer(type: .a, answer: denied, received: 5, lifetime: 30, provider: 0, server: "")
        let value = try #require(sealed.sealed(for: question(), by: keys()))
        #expect(SealedAnswer(value, for: try question(), by: try keys())?.answer == denied)
    }

    @Test func `no byte of a value can be changed`() throws {
        let value = try #require(try answer().sealed(for: question(), by: keys()))
        for index in value.indices {
            for bit: UInt8 in [1, 0x80] {
                var changed = value
                changed[index] ^= bit
                #expect(SealedAnswer(changed, for: try question(), by: try keys()) == nil, "byte \(index)")
            }
        }
    }

    @Test func `a value that is cut short, or goes on, is no answer`() throws {
        let value = try #require(try answer().sealed(for: question(), by: keys()))
        for length in 0..<value.count {
            #expect(SealedAnswer(Array(value.prefix(length)), for: try question(), by: try keys()) == nil)
        }
        #expect(SealedAnswer(value + [0], for: try question(), by: try keys()) == nil)
    }

    @Test func `a value is of no use for another name, type, scope, policy or flag, nor under another secret`() throws {
        let value = try #require(try answer().sealed(for: question(), by: keys()))
        let network = try #require(AddressPrefix("198.51.100.0/24"))
        for other in [
            try question("www.example.org"), try question("www.example.com", .aaaa),
            try question(scope: .undisclosed), try question(scope: .network(network)),
            try question(policy: [UInt8](repeating: 8, count: 16)), try question(dnssecOK: true),
            try question(types: [.a, .aaaa]),
        ] {
            #expect(SealedAnswer(value, for: other, by: try keys()) == nil)
        }
        #expect(SealedAnswer(value, for: try question(), by: try keys(2)) == nil)
    }

    @Test func `two values of one answer differ, and their names in Redis do not`() throws {
        let first = try #require(try answer().sealed(for: question(), by: keys()))
        let second = try #require(try answer().sealed(for: question(), by: keys()))
        #expect(first != second)
        #expect(try keys().place(of: question())?.name == keys().place(of: question())?.name)
    }

    @Test func `a name in Redis has 32 characters, and shows nothing of the question`() throws {
        let names = try ["a.example", String(repeating: "long-label.", count: 20) + "example"].map { name in
            String(decoding: try #require(try keys().place(of: question(name))?.name), as: UTF8.self)
        }
        #expect(names.allSatisfy { $0.count == 32 && !$0.contains("example") })
        #expect(names[0] != names[1])
    }

    @Test func `an answer that is very long is not shared`() throws {
        let name = try Name("www.example.com")
        let addresses = (0..<600).map { IPAddress.v4(0xc000_0000 + UInt32($0)) }
        let long = SealedAnswer(
            type: .a, answer: Answer(name: name, addresses: addresses, ttl: 60), received: 5, lifetime: 60, provider: 0,
            server: "")
        #expect(long.sealed(for: try question(), by: try keys()) == nil)
    }

    @Test func `both families are one value, and each is read with its own TTL`() throws {
        let question = try question(types: [.a, .aaaa])
        let place = try #require(try keys().place(of: question))
        let other = SealedAnswer(
            type: .aaaa, answer: Answer(name: try Name("www.example.com"), addresses: [.v6(1)], ttl: 20),
            received: Self.received + 5, lifetime: 20, provider: 0, server: "")
        let value = try #require(SealedAnswer.sealed([try answer(), other], for: question, at: place))
        #expect(SealedAnswer.opened(value, for: question, at: place) == [try answer(), other])
    }

    @Test func `a value with a type that was not asked for, or one twice, is no answer`() throws {
        let name = try Name("www.example.com")
        let texts = try [
            SealedAnswer.contents([answer()], for: name), SealedAnswer.contents([answer(), answer()], for: name),
        ]
        #expect(SealedAnswer.answers(in: texts[0], for: try question(types: [.aaaa])) == nil)
        #expect(SealedAnswer.answers(in: texts[1], for: try question(types: [.a, .aaaa])) == nil)
        #expect(SealedAnswer.answers(in: texts[0] + [0], for: try question()) == nil)
        #expect(SealedAnswer.answers(in: texts[0], for: try question("other.example.com")) == nil)
    }

    @Test func `a response code that is no answer is not read`() throws {
        let value = try #require(try answer(code: .serverFailure).sealed(for: question(), by: keys()))
        #expect(SealedAnswer(value, for: try question(), by: try keys()) == nil)
    }

    @Test(arguments: [0, 16, 31, 33]) func `a secret of another length is refused`(length: Int) {
        #expect(SharedKeys(secret: [UInt8](repeating: 1, count: length)) == nil)
    }

    // MARK: Its age

    @Test(arguments: [0: 80, 1: 79, 79: 1, -1: 80, -30: 80] as [Int64: UInt32])
    func `an answer has the rest of its TTL, and no more`(after: Int64, remaining: UInt32) throws {
        let shared = try #require(try answer().shared(at: Self.received + after))
        #expect(shared.remaining == remaining)
        #expect(shared.answer.answers.map(\.ttl) == [remaining, remaining])
        #expect((shared.provider, shared.server) == (1, "203.0.113.1:443"))
    }

    @Test(arguments: [80, 81, 100_000, -31, -100_000, .min + 1_800_000_000, .max - 1_800_000_000] as [Int64])
    func `an answer past its end, or of a time to come, is none`(after: Int64) throws {
        #expect(try answer().shared(at: Self.received + after) == nil)
    }
}

extension SealedAnswer {
    fileprivate init?(_ value: [UInt8], for question: SharedQuestion, by keys: SharedKeys) {
        guard let place = keys.place(of: question), let answers = SealedAnswer.opened(value, for: question, at: place),
            let answer = answers.first
        else { return nil }
        self = answer
    }

    fileprivate func sealed(for question: SharedQuestion, by keys: SharedKeys) -> [UInt8]? {
        keys.place(of: question).flatMap { SealedAnswer.sealed([self], for: question, at: $0) }
    }
}
