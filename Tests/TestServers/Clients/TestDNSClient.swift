import TestSupport

/// A client that asks over UDP; the test determines every byte.
package final class TestDNSClient: Sendable {
    /// A datagram that was received.
    package struct Reply: Sendable {
        package let bytes: [UInt8]
        package let message: TestMessage
        /// The address that sent it.
        package let from: TestAddress
    }

    package let server: TestAddress
    private let socket: TestSocket
    /// Retained so that it runs as long as its client exists.
    private let daemon: Daemon?

    /// Opens a socket that is not connected, so that responses from a wrong address are received too.
    ///
    /// - Parameter source: the address to ask from, such as `127.3.2.1`; nil: the loopback address of the server's
    ///   family.
    package init(_ server: TestAddress, from source: String? = nil, keeping daemon: Daemon? = nil) throws {
        self.daemon = daemon
        self.server = server
        socket = try TestSocket.udp(TestAddress(source ?? (server.isIPv6 ? "::1" : "127.0.0.1")))
    }

    package var localAddress: TestAddress { socket.localAddress }

    /// Sends raw bytes.
    package func send(_ bytes: [UInt8]) throws { try socket.send(bytes, to: server) }

    /// Sends a message.
    package func send(_ message: TestMessage) throws { try send(message.encoded) }

    /// The next datagram.
    ///
    /// - Throws: when none arrives in time, or it is not a DNS message.
    package func receive(within limit: Duration = .patience) throws -> Reply {
        guard let (bytes, from) = socket.receive(limit) else { throw TestFailure("no reply within \(limit)") }
        return Reply(bytes: bytes, message: try TestMessage(decoding: bytes), from: from)
    }

    /// The next datagram, or nil when none arrives in time.
    package func receiveIfAny(within limit: Duration) throws -> Reply? {
        guard let (bytes, from) = socket.receive(limit) else { return nil }
        return Reply(bytes: bytes, message: try TestMessage(decoding: bytes), from: from)
    }

    /// Sends a message and waits for the response.
    ///
    /// - Returns: the response.
    /// - Throws: unless it has the query's ID and question, and comes from the address asked.
    @discardableResult
    package func ask(_ query: TestMessage, within limit: Duration = .patience) throws -> TestMessage {
        try send(query)
        let reply = try receive(within: limit)
        guard reply.message.id == query.id, reply.message.isResponse else {
            throw TestFailure("a reply to something else: \(reply.message)")
        }
        guard reply.from == server else { throw TestFailure("the reply came from \(reply.from), not \(server)") }
        return reply.message
    }

    /// Asks for one name with RD set and an OPT record.
    package func ask(
        _ name: String, _ type: UInt16 = TestRecordType.a, edns: TestEDNS? = TestEDNS(),
        within limit: Duration = .patience
    ) throws -> TestMessage {
        try ask(.query(name, type, edns: edns), within: limit)
    }

    /// Asks repeatedly until a response fulfils `condition`.
    ///
    /// - Throws: when none does within `limit`.
    package func ask(
        _ name: String, _ type: UInt16 = TestRecordType.a, until condition: (TestMessage) -> Bool,
        within limit: Duration = .patience
    ) throws -> TestMessage {
        let deadline = ContinuousClock.now + limit
        var last: TestMessage?
        while ContinuousClock.now < deadline {
            let reply = try ask(name, type)
            if condition(reply) { return reply }
            last = reply
            // Nothing is sent to this socket between two questions: the wait only saves processor time.
            _ = socket.receive(.milliseconds(20))
        }
        throw TestFailure("no such reply within \(limit); the last was \(last.map { "\($0)" } ?? "none")")
    }
}
