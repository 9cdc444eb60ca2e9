import DNSCache
import DNSWire
import Testing

struct PackedAnswerTests {
    let question = Question(name: name("www.example.com"), type: .a)

    @Test func `the owner of an address is a pointer to the question`() throws {
        let packed = try #require(PackedAnswer(checksummed("www.example.com"), for: question))
        #expect(Array(packed.body.prefix(2)) == [0xc0, 12])
        #expect(packed.body.count == 16)
        #expect(packed.ttlOffsets == [6])
        #expect(packed.counts == PackedAnswer.SectionCounts(answer: 1))
    }

    @Test func `an RCODE that no header holds becomes SERVFAIL`() {
        #expect(PackedAnswer(Answer(responseCode: .badVersion), for: question)?.responseCode == .serverFailure)
        #expect(PackedAnswer(Answer(responseCode: .nameError), for: question)?.responseCode == .nameError)
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

    @Test func `an empty answer has an empty body`() {
        let packed = PackedAnswer(Answer(), for: question)
        #expect(packed?.body == [])
        #expect(packed?.ttlOffsets == [])
    }
}
