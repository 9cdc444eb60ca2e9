import DNSCache
import DNSWire
import Scheduling
import Testing

struct MemoryCacheTests {
    let cache = MemoryCache()

    @Test func `a stored answer comes back with the client's ID and RD`() throws {
        let query = TestQuery("www.example.com", id: 0xbeef)
        cache.put(checksummed("www.example.com"), for: query)
        let reply = try #require(try cache.message(to: query))
        #expect(reply.id == 0xbeef)
        #expect(reply.flags == [.response, .recursionDesired, .recursionAvailable])
        #expect(reply.answers == checksummed("www.example.com").answers)
        #expect(reply.questions == [query.question])
        #expect(reply.edns == nil)
    }
}
