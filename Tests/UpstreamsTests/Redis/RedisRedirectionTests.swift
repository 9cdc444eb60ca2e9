import Platform
import Testing

@testable import Upstreams

struct RedisRedirectionTests {
    private func address(_ text: String) throws -> SocketAddress {
        try #require(SocketAddress(text, defaultPort: 6_379))
    }

    @Test(arguments: [
        ("123456789", 12_739), ("foo", 12_182), ("{user1000}.following", 3_443), ("user1000", 3_443),
        ("foo{}{bar}", 8_363), ("foo{{bar}}zap", 4_015), ("{bar", RedisSlot.number(of: Array("{bar".utf8))),
    ]) func `the slot of a name is the cluster's`(name: String, slot: Int) {
        #expect(RedisSlot.number(of: Array(name.utf8)) == slot)
    }

    @Test func `a redirection says the slot, the node, and whether it holds for once`() throws {
        let moved = try #require(RedisRedirection("MOVED 3999 192.0.2.1:6381"))
        #expect(moved.slot == 3_999 && !moved.isForOnce)
        let place = try address("192.0.2.9:6379")
        #expect(try moved.address(from: place) == address("192.0.2.1:6381"))
        #expect(try #require(RedisRedirection("ASK 0 192.0.2.1:6381")).isForOnce)
        let same = try #require(RedisRedirection("MOVED 5 :7001"))
        #expect(try same.address(from: place) == address("192.0.2.9:7001"))
        let six = try #require(RedisRedirection("MOVED 5 2001:db8::1:7001"))
        #expect(try six.address(from: address("[2001:db8::2]:6379")) == address("[2001:db8::1]:7001"))
    }

    @Test(arguments: [
        "ERR MOVED", "MOVED", "MOVED 16384 192.0.2.1:6381", "MOVED -1 192.0.2.1:6381", "MOVED 1 192.0.2.1",
        "MOVED 1 192.0.2.1:65536", "MOVED 1 node.example.com:6379", "MOVED 1 192.0.2.1:6381 x", "CLUSTERDOWN x y:1",
        "MOVED +1 192.0.2.1:6381", "MOVED 9223372036854775808 192.0.2.1:6381", "MOVED 1 192.0.2.1:+6381", "MOVED 1 :",
    ]) func `any other error redirects nowhere`(error: String) {
        #expect(RedisRedirection(error) == nil)
    }

    @Test(arguments: [
        ("192.0.2.1:6379", "127.0.0.1:7000"), ("192.0.2.1:6379", "10.0.0.1:7000"),
        ("10.0.0.1:6379", "169.254.1.1:7000"),
        ("10.0.0.1:6379", "192.0.2.1:7000"), ("10.0.0.1:6379", "10.0.0.2:80"), ("127.0.0.1:6379", "224.0.0.1:7000"),
    ]) func `an address of another kind, or a port of a system's service, is no node`(
        place: String, node: String
    ) throws {
        let redirection = try #require(RedisRedirection("MOVED 1 \(node)"))
        #expect(try redirection.address(from: address(place)) == nil)
    }
}
