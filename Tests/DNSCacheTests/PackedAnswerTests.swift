import DNSWire
import Testing

@testable import DNSCache

struct PackedAnswerTests {
    let question = Question(name: name("www.example.com"), type: .a)

    @Test func `the owner of an address is a pointer to the question`() throws {
        let packed = try #require(PackedAnswer(checksummed("www.example.com"), for: question))
        #expect(Array(packed.body.prefix(2)) == [0xc0, 12])
        #expect(packed.body.count == 16)
        #expect(packed.counts == PackedAnswer.SectionCounts(answer: 1))
    }

    @Test func `an RCODE that no header holds becomes SERVFAIL`() {
        #expect(PackedAnswer(Answer(responseCode: .badVersion), for: question)?.responseCode == .serverFailure)
        #expect(PackedAnswer(Answer(responseCode: .nameError), for: question)?.responseCode == .nameError)
        let last = ResponseCode(rawValue: 15)
        #expect(PackedAnswer(Answer(responseCode: last), for: question)?.responseCode == last)
    }

    @Test func `an answer that leaves no room for OPT in 65,535 bytes is refused`() {
        // Header 12, question 21, record 12 and the rdata leave 17 bytes, or one less.
        let fits = Record(name: question.name, type: .txt, ttl: 1, rdata: Array(repeating: 0, count: 65_535 - 17 - 45))
        #expect(PackedAnswer(Answer(answers: [fits]), for: question) != nil)
        var tooLong = fits
        tooLong.rdata.append(0)
        #expect(PackedAnswer(Answer(answers: [tooLong]), for: question) == nil)
    }

    @Test func `an answer of far too many records is refused`() {
        let record = Record(name: question.name, address: .v4(1), ttl: 1)
        #expect(PackedAnswer(Answer(answers: Array(repeating: record, count: 70_000)), for: question) == nil)
    }

    private var alias: Record {
        Record(name: question.name, type: .cname, ttl: 30, rdata: name("cdn.example.net").wire)
    }

    /// Answers with records in every section, and whether they are negative.
    private var answers: [(answer: Answer, isNegative: Bool)] {
        let address = Record(name: name("cdn.example.net"), address: .v4(1), ttl: 60)
        let server = Record(name: name("example.net"), type: .ns, ttl: 20, rdata: name("ns.example.net").wire)
        let glue = Record(name: name("ns.example.net"), address: .v6(1), ttl: 3_600)
        let soa = Record.negativeSOA(for: name("example.com"), ttl: 5)
        return [
            (checksummed("www.example.com"), false),
            (Answer(name: question.name, addresses: (0..<300).map { .v4($0) }, ttl: 60), false),
            (Answer(answers: [alias, address]), false),
            (Answer(answers: [alias, address], authorities: [server], additionals: [glue, glue]), false),
            (Answer(answers: [alias], authorities: [soa]), true),
            (Answer(responseCode: .nameError, authorities: [soa]), true),
        ]
    }

    @Test func `what was packed once comes back, checked, with its records`() throws {
        for (answer, isNegative) in answers {
            let packed = try #require(PackedAnswer(answer, for: question))
            #expect(packed.unpacked(for: question) == answer)
            let checked = try #require(
                PackedAnswer.checked(
                    packed.body, responseCode: packed.responseCode, counts: packed.counts, for: question))
            #expect(checked.answer == packed && checked.isNegative == isNegative)
        }
        let root = Question(name: .root, type: .a)
        let packed = try #require(PackedAnswer(Answer(name: .root, addresses: [.v4(1)], ttl: 60), for: root))
        let checked = PackedAnswer.checked(packed.body, responseCode: .noError, counts: packed.counts, for: root)
        #expect(checked?.answer == packed)
    }

    @Test func `a failure, other counts, and another body than packing gives are not believed`() throws {
        let packed = try #require(PackedAnswer(Answer(answers: [alias, alias]), for: question))
        func isBelieved(
            _ body: [UInt8], _ counts: PackedAnswer.SectionCounts, _ code: ResponseCode = .noError
        ) -> Bool {
            PackedAnswer.checked(body, responseCode: code, counts: counts, for: question) != nil
        }
        #expect(isBelieved(packed.body, packed.counts))
        #expect(!isBelieved(packed.body, packed.counts, .serverFailure))
        for counts in [.init(answer: 1), .init(answer: 3), .init(answer: 1, additional: 2)]
            as [PackedAnswer.SectionCounts]
        {
            #expect(!isBelieved(packed.body, counts))
        }
        #expect(!isBelieved(packed.body + [0], packed.counts))
        #expect(!isBelieved(Array(packed.body.dropLast()), packed.counts))
        // An owner in full, where packing writes a pointer.
        #expect(!isBelieved(question.name.wire + [0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1], .init(answer: 1)))
    }

    @Test(arguments: [RecordType.a, .aaaa])
    func `plain addresses are checked as thoroughly as any other records`(type: RecordType) throws {
        let question = Question(name: question.name, type: type)
        let addresses: [IPAddress] = type == .a ? [.v4(1), .v4(2)] : [.v6(1), .v6(2)]
        let packed = try #require(
            PackedAnswer(Answer(name: question.name, addresses: addresses, ttl: 300), for: question))
        for index in packed.body.indices {
            for bit in 0..<8 {
                var body = packed.body
                body[index] ^= 1 << UInt8(bit)
                let stored = PackedAnswer(responseCode: .noError, counts: packed.counts, body: body)
                let answer = stored.unpacked(for: question)
                let again = answer.flatMap { PackedAnswer($0, for: question) }
                let checked = PackedAnswer.checked(
                    body, responseCode: .noError, counts: packed.counts, for: question)
                #expect(checked?.answer == (again?.body == body ? again : nil))
                #expect(checked == nil || checked?.isNegative == answer?.isNegative(for: type))
            }
        }
    }

    @Test func `it says which types, addresses and TTLs it has`() throws {
        let longest = Record(name: name("ns.example.net"), address: .v6(9), ttl: 0x7fff_fffe)
        let other = Record(name: question.name, type: RecordType(rawValue: 257), ttl: 60, rdata: [0, 1, 2, 3])
        let text = Record(name: question.name, type: .txt, ttl: 60, rdata: [1, 2, 3, 4])
        let chaos = Record(name: question.name, type: .a, class: .chaos, ttl: 60, rdata: [192, 0, 2, 9])
        let short = Record(name: question.name, type: .a, ttl: 60, rdata: [192, 0, 2])
        let answer = Answer(
            answers: [
                alias, Record(name: name("cdn.example.net"), address: .v4(0xc000_0201), ttl: 60),
                Record(name: name("cdn.example.net"), address: .v6(1), ttl: 60), other, text, chaos, short,
            ], authorities: [.negativeSOA(for: name("example.com"), ttl: 5)], additionals: [longest])
        let packed = try #require(PackedAnswer(answer, for: question))
        for type in [.cname, .a, .aaaa, RecordType(rawValue: 257)] as [RecordType] { #expect(packed.holds(type)) }
        // Those of other sections do not count.
        for type in [.soa, .ns, RecordType(rawValue: 256)] as [RecordType] { #expect(!packed.holds(type)) }
        #expect(packed.holds(.v4(0xc000_0201)) && packed.holds(.v6(1)))
        #expect(!packed.holds(.v4(0xc000_0202)) && !packed.holds(.v4(1)) && !packed.holds(.v6(9)))
        // The same bytes in records of other types.
        #expect(!packed.holds(.v4(0x0001_0203)) && !packed.holds(.v4(0x0102_0304)))
        #expect(packed.addresses == [.v4(0xc000_0201), .v6(1)])
        #expect(packed.longestTTL == 0x7fff_fffe)
        #expect(try #require(PackedAnswer(Answer(), for: question)).longestTTL == 0)
    }

    @Test(arguments: [[0xc0, 0x0c], [1, 97, 0], [1, 97, 0xc0, 0x0c], [0]] as [[UInt8]])
    func `a record that is cut anywhere is none`(owner: [UInt8]) {
        let body: [UInt8] = owner + [0, 1, 0, 1, 0, 0, 1, 0x2c, 0, 4, 192, 0, 2, 1]
        func answer(_ length: Int) -> PackedAnswer {
            PackedAnswer(responseCode: .noError, counts: .init(answer: 1), body: Array(body.prefix(length)))
        }
        for length in body.indices { #expect(!answer(length).holds(.a) && answer(length).addresses.isEmpty) }
        #expect(answer(body.count).holds(.a) && answer(body.count).addresses == [.v4(0xc000_0201)])
    }
}
