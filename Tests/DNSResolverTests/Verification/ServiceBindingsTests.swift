import DNSCache
import DNSWire
import Scheduling
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// A browser asks for HTTPS records of a protected name.
@Suite(.onLoop)
struct ServiceBindingsTests {
    /// A machine with a DoH provider and a LocalDNS.
    @Loop
    private final class Machine {
        let clock = ManualClock()
        let doh: FakeUpstream
        let localDNS: FakeUpstream
        let resolver: Resolver

        init(isAuthenticated: Bool = true, guards: Bool = true, filter: AddressFilter = AddressFilter()) {
            doh = FakeUpstream("doh", .addresses("192.0.2.1", "2001:db8::1"), clock: clock)
            localDNS = FakeUpstream("localdns", .addresses("203.0.113.9"), clock: clock)
            let provider = FakeProvider(
                "doh", addresses: [doh], answersBothFamilies: false, anyType: true, isAuthenticated: isAuthenticated)
            let sources = SourceTags(forwards: 0, providers: 1)
            let lines = SourceLines(
                providers: [provider], filter: filter, localDNS: localDNS, guardsServiceBindings: guards, clock: clock)
            let policy = ResolverPolicy(
                localAnswers: LocalAnswers(), routes: RoutePolicy(), lines: lines, sources: sources)
            resolver = Resolver(
                policy: policy,
                store: AnswerStore(
                    memory: MemoryCache(memory: 1 << 20), freshness: FreshnessPolicy(), generation: PolicyGeneration(),
                    policy: policy, badAddresses: BadAddresses(clock: clock), clock: clock), clock: clock)
        }

        /// Makes the provider answer with these records, and with addresses for every name.
        func tell(_ records: [Record]) {
            doh.behaviour = .reply(
                after: .zero,
                [
                    .https: .answer(Answer(answers: records)),
                    .a: .answer(Answer(name: .root, addresses: [.v4(0xc000_0201)], ttl: 40)),
                    .aaaa: .answer(.negative(name: .root, ttl: 60)),
                ])
        }

        /// Asks without waiting.
        func start(_ name: String, _ type: RecordType, _ reply: ResolverTests.Reply) {
            let question = Question(name: (try? Name(name)) ?? .root, type: type)
            let client = ClientQuestion(question: question, client: .v4(0x7f00_0001), arrived: clock.now)
            resolver.respond(to: client) { reply.response = $0 }
        }

        /// The answer section that a browser receives.
        func ask(signed: Bool = false) async throws -> [Record] {
            let question = Question(name: try Name("www.example.com"), type: .https)
            let client = ClientQuestion(
                question: question, dnssecOK: signed, client: .v4(0x7f00_0001), arrived: clock.now)
            let reply = ResolverTests.Reply(clock: clock)
            resolver.respond(to: client) { reply.response = $0 }
            await clock.advance(by: .seconds(3))
            #expect(reply.response?.responseCode == .noError)
            return try #require(reply.packed?.unpacked(for: question)).answers
        }
    }

    private static let theirs: [UInt8] = [198, 51, 100, 7]
    private static let alpn: (UInt16, [UInt8]) = (1, [2, 104, 51])
    private static let ech: (UInt16, [UInt8]) = (5, [9, 9])

    /// An HTTPS record of www.example.com.
    private func record(
        to target: String = ".", priority: UInt16 = 1, _ parameters: [(UInt16, [UInt8])]
    ) throws -> Record {
        Record(
            name: try Name("www.example.com"), type: .https, ttl: 300,
            rdata: TestServiceBinding.rdata(priority, target, parameters))
    }

    /// A signature over the HTTPS records.
    private func signature() throws -> Record {
        Record(
            name: try Name("www.example.com"), type: .rrsig, ttl: 300,
            rdata: [0, 65] + [UInt8](repeating: 1, count: 30))
    }

    @Test(arguments: [false, true]) @Loop
    func `a set loses its hints, with DO too, the rest stays, and nothing more is asked`(signed: Bool) async throws {
        let machine = Machine()
        machine.tell([try record([Self.alpn, (4, Self.theirs), Self.ech, (6, Array(repeating: 7, count: 16))])])
        let records = try await machine.ask(signed: signed)
        #expect(records.map(\.rdata) == [TestServiceBinding.rdata(1, ".", [Self.alpn, Self.ech])])
        #expect(records.map(\.ttl) == [300])
        #expect(machine.doh.asked.count == 1 && machine.localDNS.asked.isEmpty)
    }

    @Test @Loop func `a record without hints stays as it is, and nothing more is asked`() async throws {
        let machine = Machine()
        let record = try record(to: "cdn.example.net", [Self.alpn, Self.ech])
        machine.tell([record])
        #expect(try await machine.ask() == [record])
        #expect(machine.doh.asked.count == 1)
    }

    @Test @Loop func `while a failure is remembered the records are denied, too, once an older answer is too old`()
        async throws
    {
        let machine = Machine()
        machine.tell([try record([Self.alpn, (4, Self.theirs)])])
        _ = try await machine.ask()
        machine.doh.behaviour = .failure(.network("refused"))
        // An answer with a TTL of 300 s is served stale for 30,000 s.
        await machine.clock.advance(by: .seconds(30_298) - .milliseconds(500))
        let stale = ResolverTests.Reply(clock: machine.clock)
        machine.start("www.example.com", .https, stale)
        await machine.clock.advance(by: .milliseconds(900))
        #expect(stale.isStale)
        #expect(try await machine.ask().isEmpty)
    }

    @Test @Loop func `a record that demands hints goes, and the last one leaves nothing`() async throws {
        let demanding = try record(to: "cdn.example.net", [(0, [0, 4]), (4, Self.theirs)])
        let plain = try record([Self.alpn])
        let machine = Machine()
        machine.tell([demanding, plain])
        #expect(try await machine.ask() == [plain])
        let empty = Machine()
        empty.tell([demanding])
        #expect(try await empty.ask().isEmpty)
    }

    @Test @Loop func `one malformed record spoils the set`() async throws {
        let machine = Machine()
        machine.tell([try record([Self.alpn]), try record([(4, [1, 2, 3])])])
        #expect(try await machine.ask().isEmpty)
    }

    @Test @Loop func `what is signed passes whole to who asks with DO; others get it without hints and signature`()
        async throws
    {
        let records = [try record(to: "cdn.example.net", [Self.alpn, (4, Self.theirs)]), try signature()]
        let machine = Machine()
        machine.tell(records)
        #expect(try await machine.ask(signed: true) == records)
        #expect(
            try await machine.ask().map(\.rdata) == [TestServiceBinding.rdata(1, "cdn.example.net", [Self.alpn])])
    }

    @Test @Loop func `over plain HTTP no upstream is asked, unless the records are passed on like any other type`()
        async throws
    {
        let record = try record([Self.alpn, (4, Self.theirs)])
        let plain = Machine(isAuthenticated: false)
        plain.tell([record])
        #expect(try await plain.ask().isEmpty)
        let forwarding = Machine(isAuthenticated: false, guards: false)
        forwarding.tell([record])
        #expect(try await forwarding.ask() == [record])
        forwarding.doh.behaviour = .failure(.network("refused"))
        await forwarding.clock.advance(by: .seconds(200_000))
        forwarding.localDNS.behaviour = .reply(after: .zero, [.https: .answer(Answer(answers: [record]))])
        let later = try await forwarding.ask()
        #expect(later.map(\.rdata) == [record.rdata] && later.map(\.ttl) == [30])
        #expect(forwarding.localDNS.asked.count == 1)
    }

    @Test(arguments: ["198.51.100.0/24", "203.0.113.0/24"])
    @Loop func `where some addresses may not be answered, no hint is passed on, whose they ever are`(bogus: String)
        async throws
    {
        let filter = AddressFilter(bogus: [bogus].compactMap { AddressPrefix($0) })
        let record = try record([Self.alpn, (4, Self.theirs), Self.ech])
        let bare = TestServiceBinding.rdata(1, ".", [Self.alpn, Self.ech])
        let machine = Machine(guards: false, filter: filter)
        machine.tell([record, try signature()])
        #expect(try await machine.ask().map(\.rdata) == [bare])
        #expect(try await machine.ask(signed: true) == [record, try signature()])
        let hijacked = Machine(guards: false, filter: filter)
        hijacked.doh.behaviour = .failure(.network("refused"))
        hijacked.localDNS.behaviour = .reply(after: .zero, [.https: .answer(Answer(answers: [record]))])
        #expect(try await hijacked.ask().map(\.rdata) == [bare])
    }
}
