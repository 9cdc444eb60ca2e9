import DNSWire
import HTTPDNS
import Testing

/// The mark of a request's sender.
struct LoopMarkTests {
    @Test func `a request with it stays what it was`() throws {
        let mark = try #require(LoopMark(CountingIVs()))
        let question = UpstreamQuestion(name: name("www.example.com"), types: [.a])
        let plain = try DoHFormat().request(for: question, at: 0)
        let marked = mark.added(to: plain)
        #expect(marked.target == plain.target)
        #expect(marked.headers == plain.headers + [["cdn-loop", "httpdnsd-0001020304050607"]])
    }

    @Test(
        arguments: [
            ("httpdnsd-0001020304050607", true), ("cdn.example, httpdnsd-0001020304050607; v=1", true),
            ("httpdnsd-0001020304050608", false), ("x-httpdnsd-0001020304050607", false), ("", false),
            ("a;httpdnsd-0001020304050607", false),
        ]) func `it is found among others, and only whole`(value: String, isIn: Bool) throws
    {
        #expect(try #require(LoopMark(CountingIVs())).isIn(value) == isIn)
    }
}
