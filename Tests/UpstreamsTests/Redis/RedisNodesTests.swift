import Platform
import Scheduling
import TestSupport
import Testing

@testable import Upstreams

/// The nodes of a cluster, whose replies the test gives.
@Suite(.onLoop)
struct RedisNodesTests {
    private let redis = FakeRedis()
    private let name = Array("name".utf8)

    /// The replies to a command, as they come.
    private final class Replies {
        var all: [RedisReply?] = []
    }

    @Loop private func get(_ nodes: RedisNodes, _ name: [UInt8]) -> Replies {
        let replies = Replies()
        _ = nodes.send(RedisCommand("GET", name), about: name) { replies.all.append($0) }
        return replies
    }

    private func moved(_ name: [UInt8], _ node: String) -> RedisReply {
        .error("MOVED \(RedisSlot.number(of: name)) \(node)")
    }

    @Test @Loop func `a name that has moved is asked of its node, and the next command goes there at once`() {
        let nodes = redis.nodes()
        let first = get(nodes, name)
        redis.last?.reply(moved(name, "192.0.2.2:6379"))
        #expect(redis.channels.count == 2 && redis.last?.sent == ["GET"])
        redis.last?.reply(.integer(1))
        #expect(first.all == [.integer(1)])
        _ = get(nodes, name)
        #expect(redis.channels.map(\.sent) == [["GET"], ["GET", "GET"]])
    }

    @Test @Loop func `a name that moves back to the configured server is asked of it again`() {
        let nodes = redis.nodes()
        _ = get(nodes, name)
        redis.last?.reply(moved(name, "192.0.2.2:6379"))
        redis.last?.reply(moved(name, "192.0.2.1:6379"))
        _ = get(nodes, name)
        #expect(redis.channels.map(\.sent) == [["GET", "GET", "GET"], ["GET"]])
    }

    @Test @Loop func `a name whose slot is on its way is asked of the other node once, behind ASKING`() {
        let nodes = redis.nodes()
        _ = get(nodes, name)
        redis.last?.reply(.error("ASK \(RedisSlot.number(of: name)) 192.0.2.2:6379"))
        _ = get(nodes, name)
        #expect(redis.channels.map(\.sent) == [["GET", "GET"], ["ASKING", "GET"]])
    }

    @Test @Loop func `nodes that redirect in a circle end the command after three`() {
        let nodes = redis.nodes()
        let replies = get(nodes, name)
        for number in 2..<9 {
            for channel in redis.channels { channel.reply(moved(name, "192.0.2.\(number):6379")) }
        }
        #expect(replies.all == [nil])
        #expect(redis.channels.count == 4)
    }

    @Test @Loop func `no more than 64 nodes are connected to, whatever is redirected`() {
        let nodes = redis.nodes()
        for number in 0..<100 {
            let name = Array("name\(number)".utf8)
            _ = get(nodes, name)
            redis.channels.first?.reply(moved(name, "192.0.2.2:\(7_000 + number)"))
        }
        #expect(redis.channels.filter { !$0.isClosed }.count <= 65)
        #expect(redis.channels.count > 60)
    }

    @Test @Loop func `a redirection to where no node can be ends the command`() {
        let nodes = redis.nodes()
        let replies = get(nodes, name)
        redis.last?.reply(moved(name, "127.0.0.1:6379"))
        #expect(replies.all == [nil])
        #expect(redis.channels.count == 1)
    }

    @Test @Loop func `while a node is in backoff its names are asked of the configured server again`() {
        let nodes = redis.nodes()
        _ = get(nodes, name)
        redis.last?.reply(moved(name, "192.0.2.2:6379"))
        redis.last?.events.end("gone", true)
        #expect(!nodes.send(RedisCommand("GET", name), about: name) { _ in })
        _ = get(nodes, name)
        #expect(redis.channels.first?.sent == ["GET", "GET"])
    }
}
