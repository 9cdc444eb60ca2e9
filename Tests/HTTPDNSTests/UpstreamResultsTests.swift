import DNSWire
import HTTPDNS
import Testing

/// The results of one reply.
struct UpstreamResultsTests {
    private let a = addresses(["192.0.2.1", "192.0.2.2"], ttl: 60)
    private let aaaa = addresses(["2001:db8::1"], ttl: 60)
    private let none: UpstreamResult = .indeterminateEmpty(ttl: nil)

    @Test func `of two results for one type the first counts`() {
        var results = UpstreamResults()
        #expect(results.isEmpty)
        for (type, result) in [(RecordType.a, a), (.a, none), (.aaaa, none), (.aaaa, aaaa)] {
            results.add(result, for: type)
        }
        #expect(!results.isEmpty)
        #expect(results.map(\.type) == [.a, .aaaa])
        #expect(results[.a] == a && results[.aaaa] == none && results[.txt] == nil)
    }

    @Test func `a result is replaced, and of a type beside AAAA the last one counts`() {
        var results: UpstreamResults = [.a: a, .aaaa: aaaa]
        results[.aaaa] = none
        #expect(results == [.a: a, .aaaa: none])
        results[.txt] = none
        #expect(results == [.txt: none, .aaaa: none] && results[.a] == nil)
        (results[.txt], results[.aaaa]) = (nil, nil)
        #expect(results.isEmpty && results == UpstreamResults())
    }

    @Test func `results are equal in any order, and only with the same types`() {
        let both: UpstreamResults = [.a: a, .aaaa: none]
        #expect(both == [.aaaa: none, .a: a])
        #expect(both != [.a: a])
        #expect([.a: a] as UpstreamResults != both)
        #expect(both != [.a: a, .aaaa: aaaa])
    }

    @Test func `answers with an address are counted, as vendors bill them`() {
        let alias = Answer(answers: [Record(name: name("a"), type: .cname, ttl: 60, rdata: name("b").wire)])
        let empty: [UpstreamResult] = [none, .answer(.negative(name: name("a"), ttl: 60)), .answer(alias)]
        #expect(UpstreamResults().addressAnswers == 0)
        for other in empty {
            #expect(([.a: other, .aaaa: other] as UpstreamResults).addressAnswers == 0)
            #expect(([.a: a, .aaaa: other] as UpstreamResults).addressAnswers == 1)
            #expect(([.a: other, .aaaa: aaaa] as UpstreamResults).addressAnswers == 1)
        }
        #expect(([.a: a, .aaaa: aaaa] as UpstreamResults).addressAnswers == 2)
    }
}
