import TestSupport

/// A client that asks over TCP; the test determines every byte.
package final class TestTCPClient {
    private let socket: TestSocket
    /// Retained so that it runs as long as its client exists.
    private let daemon: Daemon?
    private var reader = FrameReader()

    package init(_ server: TestAddress, from source: String? = nil, keeping daemon: Daemon? = nil) throws {
        self.daemon = daemon
        socket = try TestSocket.connection(to: server, from: source)
    }

    /// Sends raw bytes in one write.
    package func send(_ bytes: [UInt8]) throws { try socket.write(bytes) }

    /// Sends messages with their lengths, all in one write.
    package func send(_ messages: [TestMessage]) throws { try send(messages.flatMap(\.framed)) }

    /// The next message; nil when the server closed or `limit` passed.
    package func receive(within limit: Duration = .patience) throws -> TestMessage? {
        try reader.next(socket, limit).map { try TestMessage(decoding: $0) }
    }

    /// The bytes of one read of the socket, including lengths; not to be mixed with the other ways to receive.
    package func receiveSegment(within limit: Duration = .patience) -> [UInt8]? { socket.receive(limit)?.bytes }

    /// Sends a message and returns the next one.
    package func ask(_ query: TestMessage, within limit: Duration = .patience) throws -> TestMessage {
        try send([query])
        guard let reply = try receive(within: limit) else { throw TestFailure("no reply over TCP within \(limit)") }
        return reply
    }

    /// Waits until the server closes the connection.
    ///
    /// - Returns: whether it did within `limit`, with nothing more sent before.
    package func isClosed(within limit: Duration) -> Bool {
        guard socket.wait(for: 1 /* POLLIN */, limit) != 0 else { return false }
        return socket.receive(.zero)?.bytes.isEmpty ?? true
    }

    /// Closes the sending direction.
    package func finishSending() { socket.shutdownWriting() }
}

/// Splits a TCP stream into messages by their two-byte lengths.
struct FrameReader {
    private var buffer: [UInt8] = []

    /// The next message; nil at the end of the stream, or when `limit` passed.
    mutating func next(_ socket: TestSocket, _ limit: Duration?) -> [UInt8]? {
        let deadline = limit.map { ContinuousClock.now + $0 }
        while true {
            if buffer.count >= 2 {
                let length = Int(buffer[0]) << 8 | Int(buffer[1])
                if buffer.count >= 2 + length {
                    defer { buffer.removeFirst(2 + length) }
                    return Array(buffer[2..<2 + length])
                }
            }
            let left = deadline.map { max(.zero, $0 - ContinuousClock.now) }
            guard let (bytes, _) = socket.receive(left), !bytes.isEmpty else { return nil }
            buffer += bytes
        }
    }
}

extension TestMessage {
    /// The message with its length before it, as sent over TCP.
    package var framed: [UInt8] {
        let message = encoded
        var bytes: [UInt8] = []
        bytes.append16(UInt16(message.count))
        return bytes + message
    }
}
