import DNSCache
import DNSWire
import TestSupport
import TestUpstreams
import Testing

@testable import DNSResolver

/// A browser asks for HTTPS records of a protected name.
@Suite(.onLoop) struct ServiceBindingsTests {
    /// A machine with a DoH provider.
    @Loop private func machine(
        isAuthenticated: Bool = true, guards: Bool = true, filter: AddressFilter = AddressFilter()
    ) -> Machine {
        Machine(
            answersBothFamilies: false, filter: filter, anyType: true, isAuthenticated: isAuthenticated,
            guardsServiceBindings: guards)
    }

    /// Makes the provider answer with these records, and with addresses for every name.
    @Loop private func tell(_ machine: Machine, _ records: [Record]) {
        machine.vendor.behaviour = .reply(
            after: .zero,
            [
                .https: .answer(Answer(answers: records)),
                .a: .answer(Answer(name: .root, addresses: [.v4(0xc000_0201)], ttl: 40)),
                .aaaa: .answer(.negative(name: .root, ttl: 60)),
            ])
    }

    /// The answer section that a browser receives.
    @Loop private func ask(_ machine: Machine, signed: Bool = false) async throws -> [Record] {
        let reply = machine.start("www.example.com", .https, signed: signed)
        await machine.clock.advance(by: .seconds(3))
        #expect(reply.response?.responseCode == .noError)
        let question = Question(name: try Name("www.example.com"), type: .https)
        return try #require(reply.packed?.unpacked(for: question)).answers
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
        let machine = machine()
        tell(machine, [try record([Self.alpn, (4, Self.theirs), Self.ech, (6, Array(repeating: 7, count: 16))])])
        let records = try await ask(machine, signed: signed)
        #expect(records.map(\.rdata) == [TestServiceBinding.rdata(1, ".", [Self.alpn, Self.ech])])
        #expect(records.map(\.ttl) == [300])
        #expect(machine.vendor.asked.count == 1 && machine.localDNS.asked.isEmpty)
    }

    @Test @Loop func `a record without hints stays as it is, and nothing more is asked`() async throws {
        let machine = machine()
        let record = try record(to: "cdn.example.net", [Self.alpn, Self.ech])
        tell(machine, [record])
        #expect(try await ask(machine) == [record])
        #expect(machine.vendor.asked.count == 1)
    }

    @Test @Loop func `while a failure is remembered records are denied once an older answer is too old`() async throws {
        let machine = machine()
        tell(machine, [try record([Self.alpn, (4, Self.theirs)])])
        _ = try await ask(machine)
        machine.vendor.behaviour = .failure(.network("refused"))
        // An answer with a TTL of 300 s is served stale for 30,000 s.
        await machine.clock.advance(by: .seconds(30_298) - .milliseconds(500))
        let stale = machine.start("www.example.com", .https)
        await machine.clock.advance(by: .milliseconds(900))
        #expect(stale.isStale)
        #expect(try await ask(machine).isEmpty)
    }

    @Test @Loop func `a record that demands hints goes, and the last one leaves nothing`() async throws {
        let demanding = try record(to: "cdn.example.net", [(0, [0, 4]), (4, Self.theirs)])
        let plain = try record([Self.alpn])
        let machine = machine()
        tell(machine, [demanding, plain])
        #expect(try await ask(machine) == [plain])
        let empty = self.machine()
        tell(empty, [demanding])
        #expect(try await ask(empty).isEmpty)
    }

    @Test @Loop func `one malformed record spoils the set`() async throws {
        let machine = machine()
        tell(machine, [try record([Self.alpn]), try record([(4, [1, 2, 3])])])
        #expect(try await ask(machine).isEmpty)
    }

    @Test @Loop func `what is signed passes whole with DO; others get it without hints and signature`() async throws {
        let records = [try record(to: "cdn.example.net", [Self.alpn, (4, Self.theirs)]), try signature()]
        let machine = machine()
        tell(machine, records)
        #expect(try await ask(machine, signed: true) == records)
        #expect(
            try await ask(machine).map(\.rdata) == [TestServiceBinding.rdata(1, "cdn.example.net", [Self.alpn])])
    }

    @Test @Loop func `over plain HTTP no upstream is asked, unless records are passed on like any type`() async throws {
        let record = try record([Self.alpn, (4, Self.theirs)])
        let plain = machine(isAuthenticated: false)
        tell(plain, [record])
        #expect(try await ask(plain).isEmpty)
        let forwarding = machine(isAuthenticated: false, guards: false)
        tell(forwarding, [record])
        #expect(try await ask(forwarding) == [record])
        forwarding.vendor.behaviour = .failure(.network("refused"))
        await forwarding.clock.advance(by: .seconds(200_000))
        forwarding.localDNS.behaviour = .reply(after: .zero, [.https: .answer(Answer(answers: [record]))])
        let later = try await ask(forwarding)
        #expect(later.map(\.rdata) == [record.rdata] && later.map(\.ttl) == [30])
        #expect(forwarding.localDNS.asked.count == 1)
    }

    @Test(arguments: ["198.51.100.0/24", "203.0.113.0/24"]) @Loop
    func `where some addresses may not be answered, no hint is passed on`(bogus: String) async throws {
        let filter = AddressFilter(bogus: [bogus].compactMap { AddressPrefix($0) })
        let record = try record([Self.alpn, (4, Self.theirs), Self.ech])
        let bare = TestServiceBinding.rdata(1, ".", [Self.alpn, Self.ech])
        let machine = machine(guards: false, filter: filter)
        tell(machine, [record, try signature()])
        #expect(try await ask(machine).map(\.rdata) == [bare])
        #expect(try await ask(machine, signed: true) == [record, try signature()])
        let hijacked = self.machine(guards: false, filter: filter)
        hijacked.vendor.behaviour = .failure(.network("refused"))
        hijacked.localDNS.behaviour = .reply(after: .zero, [.https: .answer(Answer(answers: [record]))])
        #expect(try await ask(hijacked).map(\.rdata) == [bare])
    }
}
