import Foundation
import Glibc
import TestSupport

/// Relays TCP connections to a server, and can silence those that exist: they stay open, and nothing is relayed.
package final class HTTPRelay: Sendable {
    private struct State {
        var accepted = 0
        /// Connections up to this number are silent.
        var silenced = 0
        /// Bytes received on silent connections.
        var swallowed = 0
        var relayed: [RelayedConnection] = []
        /// The request lines of a proxy's clients.
        var requests: [String] = []
    }

    /// The kind of server that it is.
    package enum Role: Sendable {
        /// Relays all bytes.
        case relay
        /// Relays the bytes after `CONNECT`.
        case proxy
        /// Answers `CONNECT` with this status.
        case refusingProxy(Int)
    }

    /// The port on which it listens.
    package let port: UInt16
    private let listener: TestSocket
    private let role: Role
    private let delay: Duration
    private let state = Monitor(State())

    /// - Parameter delay: how long the first bytes on each connection are delayed.
    package init(to target: TestAddress, as role: Role = .relay, delay: Duration = .zero) throws {
        self.role = role
        self.delay = delay
        let (port, listeners) = try FreePort.listeners(on: ["127.0.0.1"])
        let listener = listeners[0]
        (self.port, self.listener) = (port, listener)
        // The thread holds the listener: its number is no other socket's while it accepts.
        Thread.detachNewThread { [weak self] in
            while let (client, _) = listener.accept() {
                guard let self else { return }
                self.serve(client, target)
            }
        }
    }

    deinit {
        listener.shutdown()
        for connection in state.withLock({ $0.relayed }) { connection.breakOff() }
    }

    /// The number of connections that it has accepted.
    package var connections: Int { state.withLock { $0.accepted } }

    /// The number of bytes that were received on silent connections, and not relayed.
    package var swallowed: Int { state.withLock { $0.swallowed } }

    /// The first line of each request to a proxy.
    package var requests: [String] { state.withLock { $0.requests } }

    /// Silences the connections that exist now.
    package func silence() { silence { $0.accepted } }

    /// Silences the connections that exist now, and the next one.
    package func silenceNext() { silence { $0.accepted + 1 } }

    /// Silences all connections, including future ones.
    package func silenceAll() { silence { _ in .max } }

    /// Silences connections up to a number; bytes that are being relayed have arrived when this returns.
    private func silence(upTo number: (State) -> Int) {
        let relayed = state.withLock { state in
            state.silenced = number(state)
            return state.relayed
        }
        for connection in relayed { connection.waitForPassing() }
    }

    /// Closes the connections that exist now.
    package func disconnect() {
        for connection in state.withLock({ $0.relayed }) { connection.breakOff() }
    }

    /// Reads the request of a proxy's client and answers it.
    ///
    /// - Returns: whether the following bytes are to be relayed.
    private func admits(_ client: TestSocket) -> Bool {
        if case .relay = role { return true }
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8), let (bytes, _) = client.receive(nil), !bytes.isEmpty {
            head += bytes
        }
        let line = String(decoding: head.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
        state.withLock { $0.requests.append(line) }
        var status = 200
        if case .refusingProxy(let refusal) = role { status = refusal }
        let reply = "HTTP/1.1 \(status) Tunnel\r\n\(status == 200 ? "" : "Content-Length: 0\r\n")\r\n"
        try? client.write(Array(reply.utf8))
        return status == 200
    }

    private func serve(_ client: TestSocket, _ target: TestAddress) {
        guard admits(client) else { return }
        guard delay > .zero else { return relay(client, target) }
        Thread.detachNewThread { [self] in
            Thread.sleep(forTimeInterval: delay.inSeconds)
            relay(client, target)
        }
    }

    private func relay(_ client: TestSocket, _ target: TestAddress) {
        let connection = (try? TestSocket.connection(to: target, from: nil)).map {
            RelayedConnection(client: client, server: $0)
        }
        let number = state.withLock { state in
            state.accepted += 1
            if let connection { state.relayed.append(connection) }
            return state.accepted
        }
        guard let connection else { return }
        for (from, to, passing) in connection.ways {
            Thread.detachNewThread { [weak self] in
                var isOver = false
                while let (bytes, _) = from.receive(nil) {
                    isOver = bytes.isEmpty
                    guard !isOver, let self else { break }
                    passing.withLock {
                        let passesOn = self.state.withLock { state in
                            if state.silenced >= number { state.swallowed += bytes.count }
                            return state.silenced < number
                        }
                        if passesOn { try? to.write(bytes) }
                    }
                }
                if isOver { to.shutdownWriting() } else { connection.breakOff() }
                if connection.wayEnded() { self?.state.withLock { $0.relayed.removeAll { $0 === connection } } }
            }
        }
    }
}

/// The two sockets of a relayed connection, in use until nothing is relayed any more in either direction.
///
/// A side that has only closed its sending direction (nginx does before it closes) still receives: otherwise data from
/// the other side would reset the connection, and responses under way would be lost.
private final class RelayedConnection: Sendable {
    /// Each direction; the lock is held while bytes are relayed in it.
    let ways: [(from: TestSocket, to: TestSocket, passing: NSLock)]
    private let openWays = Monitor(2)

    init(client: TestSocket, server: TestSocket) {
        ways = [(client, server, NSLock()), (server, client, NSLock())]
    }

    /// Returns once the bytes that are being relayed now have been sent.
    func waitForPassing() { for way in ways { way.passing.withLock {} } }

    func breakOff() { for way in ways { way.to.shutdown() } }

    /// - Returns: whether it was the last.
    func wayEnded() -> Bool {
        openWays.withLock { openWays in
            openWays -= 1
            return openWays == 0
        }
    }
}
