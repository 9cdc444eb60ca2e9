import TestServers
import TestSupport
import Testing

extension Integration {
    /// TCP per RFC 7766, as a client sees it.
    @Suite(.serialized)
    struct TCPTests {
        @Test func `questions sent together are all answered`() throws {
            let stage = try Stage(.aliyun, FakeZone(["*": .init(a: ["192.0.2.7"])]))
            let client = try stage.daemon.tcpClient()
            let queries = (0..<20).map { TestMessage.query("n\($0).example.com", id: UInt16(1_000 + $0)) }
            try client.send(queries)
            var answered: [UInt16: TestMessage] = [:]
            for _ in queries {
                let reply = try #require(try client.receive())
                answered[reply.id] = reply
            }
            for query in queries {
                #expect(answered[query.id]?.questions == query.questions)
                #expect(answered[query.id]?.addresses == ["192.0.2.7"])
            }
        }

        @Test func `a fast answer overtakes a slow one`() throws {
            let stage = try Stage()
            stage.vendor.misbehave(.hang, for: "four.example.com")
            let client = try stage.daemon.tcpClient()
            try client.send([.query("four.example.com", id: 1), .query("www.example.com", id: 2)])
            #expect(try client.receive()?.id == 2)
            stage.vendor.misbehave(nil, for: "four.example.com")
            let late = try client.receive()
            #expect(late?.id == 1)
            #expect(late?.addresses == ["192.0.2.4"])
        }

        @Test func `a message split into single bytes is put together`() throws {
            let stage = try Stage()
            let client = try stage.daemon.tcpClient()
            for byte in TestMessage.query("www.example.com").framed { try client.send([byte]) }
            #expect(try client.receive()?.addresses == ["192.0.2.1", "192.0.2.2"])
        }

        @Test func `segments that end inside the next message are cut apart`() throws {
            let stage = try Stage()
            let client = try stage.daemon.tcpClient()
            let (first, second) = (TestMessage.query("www.example.com", id: 7), TestMessage.query("four.example.com"))
            let bytes = first.framed + second.framed
            let cut = first.framed.count + 1
            try client.send(Array(bytes[..<cut]))
            #expect(try client.receive()?.id == 7)
            try client.send(Array(bytes[cut...]))
            #expect(try client.receive()?.id == second.id)
        }

        @Test(arguments: [0, 1, 11])
        func `a message too short for a header does no harm`(length: Int) throws {
            let stage = try Stage()
            let client = try stage.daemon.tcpClient()
            try client.send([0, UInt8(length)] + [UInt8](repeating: 0x20, count: length))
            #expect(try client.receive(within: .milliseconds(300)) == nil)
            #expect(try stage.daemon.tcpClient().ask(.query("www.example.com")).addresses.count == 2)
        }

        @Test func `a length that promises more than comes gets no answer, and the connection ends`() throws {
            let stage = try Stage()
            let client = try stage.daemon.tcpClient()
            try client.send([0xff, 0xff] + TestMessage.query("www.example.com").encoded)
            client.finishSending()
            #expect(client.isClosed(within: .patience))
            #expect(stage.vendor.callCount() == 0)
        }

        @Test func `a length that cuts the question off is answered FORMERR`() throws {
            let stage = try Stage()
            let message = TestMessage.query("www.example.com").encoded
            let client = try stage.daemon.tcpClient()
            try client.send([0, UInt8(message.count - 3)] + message.dropLast(3))
            let reply = try #require(try client.receive())
            #expect(reply.rcode == ResponseCode.formErr)
            #expect(reply.id == UInt16(message[0]) << 8 | UInt16(message[1]))
        }

        @Test func `an answer still comes when the client has closed its sending side`() throws {
            let stage = try Stage()
            stage.vendor.misbehave(.delay(.milliseconds(100)))
            let client = try stage.daemon.tcpClient()
            try client.send([.query("www.example.com")])
            client.finishSending()
            #expect(try client.receive()?.addresses == ["192.0.2.1", "192.0.2.2"])
            #expect(client.isClosed(within: .patience))
        }

        @Test func `length and body come in one segment`() throws {
            let stage = try Stage()
            let client = try stage.daemon.tcpClient()
            try client.send([.query("www.example.com")])
            let segment = try #require(client.receiveSegment())
            #expect(segment.count > 2)
            #expect(Int(segment[0]) << 8 | Int(segment[1]) == segment.count - 2)
        }

        @Test func `a client that asks for keepalive gets the idle time, but never over UDP`() throws {
            let stage = try Stage()
            let edns = EDNS(options: [.init(11)])
            let overTCP = try stage.daemon.tcpClient().ask(.query("www.example.com", edns: edns))
            // Ten seconds in units of 100 ms (RFC 7828).
            #expect(overTCP.edns?.option(11) == [0, 100])
            #expect(try stage.daemon.tcpClient().ask(.query("www.example.com", edns: EDNS())).edns?.options == [])
            let overUDP = try stage.daemon.client().ask(.query("www.example.com", edns: edns))
            #expect(overUDP.rcode == ResponseCode.noError)
            #expect(overUDP.edns?.option(11) == nil)
        }

        @Test func `programs of this machine may have more than 32 connections together`() throws {
            let stage = try Stage()
            let clients = try (0..<40).map { _ in try stage.daemon.tcpClient() }
            for client in clients { #expect(try client.ask(.query("www.example.com")).addresses.count == 2) }
        }

        @Test func `an answer of 120 addresses is not cut over TCP`() throws {
            let stage = try Stage(.aliyun, .large("huge.example.com", count: 120))
            let reply = try stage.daemon.tcpClient().ask(.query("huge.example.com"))
            #expect(!reply.isTruncated)
            #expect(reply.addresses.count == 120)
        }
    }
}
