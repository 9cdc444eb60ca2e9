import DNSWire
import HTTPDNS
import Testing

/// The results of one reply.
struct ProviderResultsTests {
    private let a = addresses(["192.0.2.1", "192.0.2.2"], ttl: 60)
    private let aaaa = addresses(["2001:db8::1"], ttl: 60)
    private let none: UpstreamResult = .indeterminateEmpty(ttl: nil)

    @Test func `of two results for one type the first counts`() {
        var results = ProviderResults()
        #expect(results.isEmpty)
        for (type, result) in [(RecordType.a, a), (.a, none), (.aaaa, none), (.aaaa, aaaa)] {
            results.add(result, for: type)
        }
        #expect(!results.isEmpty)
        #expect(results.map(\.type) == [.a, .aaaa])
        #expect(results[.a] == a && results[.aaaa] == none && results[.txt] == nil)
    }

    @Test func `results are equal in any order, and only with the same types`() {
        let both: ProviderResults = [.a: a, .aaaa: none]
        #expect(both == [.aaaa: none, .a: a])
        #expect(both != [.a: a])
        #expect([.a: a] as ProviderResults != both)
        #expect(both != [.a: a, .aaaa: aaaa])
    }

    @Test func `answers with an address are counted, as vendors bill them`() {
        let alias = Answer(answers: [Record(name: name("a"), type: .cname, ttl: 60, rdata: name("b").wire)])
        let empty: [UpstreamResult] = [none, .answer(.negative(name: name("a"), ttl: 60)), .answer(alias)]
        #expect(ProviderResults().addressAnswers == 0)
        for other in empty {
            #expect(([.a: other, .aaaa: other] as ProviderResults).addressAnswers == 0)
            #expect(([.a: a, .aaaa: other] as ProviderResults).addressAnswers == 1)
            #expect(([.a: other, .aaaa: aaaa] as ProviderResults).addressAnswers == 1)
        }
        #expect(([.a: a, .aaaa: aaaa] as ProviderResults).addressAnswers == 2)
    }
}
