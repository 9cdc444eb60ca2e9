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
            while let (socket, _) = listener.accept() {
                guard let self else { return }
                // The relayed connection owns its number, and closes it.
                self.serve(fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0), target.port)
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
    private func admits(_ client: Int32) -> Bool {
        if case .relay = role { return true }
        var head: [UInt8] = []
        var byte: UInt8 = 0
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8), recv(client, &byte, 1, 0) == 1 { head.append(byte) }
        let line = String(decoding: head.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
        state.withLock { $0.requests.append(line) }
        var status = 200
        if case .refusingProxy(let refusal) = role { status = refusal }
        let reply = Array("HTTP/1.1 \(status) Tunnel\r\n\(status == 200 ? "" : "Content-Length: 0\r\n")\r\n".utf8)
        _ = send(client, reply, reply.count, Int32(MSG_NOSIGNAL))
        return status == 200
    }

    private func serve(_ client: Int32, _ port: UInt16) {
        guard admits(client) else {
            close(client)
            return
        }
        guard delay > .zero else { return relay(client, port) }
        Thread.detachNewThread { [self] in
            Thread.sleep(forTimeInterval: delay.inSeconds)
            relay(client, port)
        }
    }

    private func relay(_ client: Int32, _ port: UInt16) {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let address = Self.loopback(port)
        _ = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        // What arrives in two parts is relayed in two parts, immediately.
        var enabled: Int32 = 1
        for socket in [client, server] {
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &enabled, socklen_t(MemoryLayout<Int32>.size))
        }
        let connection = RelayedConnection(client: client, server: server)
        let number = state.withLock { state in
            state.accepted += 1
            state.relayed.append(connection)
            return state.accepted
        }
        for (from, to, passing) in [
            (client, server, connection.passingToServer), (server, client, connection.passingToClient),
        ] {
            Thread.detachNewThread { [weak self] in
                var buffer = [UInt8](repeating: 0, count: 65_536)
                var count = 0
                while true {
                    count = recv(from, &buffer, buffer.count, 0)
                    guard count > 0, let self else { break }
                    passing.lock()
                    let passesOn = self.state.withLock { state in
                        if state.silenced >= number { state.swallowed += count }
                        return state.silenced < number
                    }
                    if passesOn {
                        _ = send(to, buffer, count, Int32(MSG_NOSIGNAL))
                    }
                    passing.unlock()
                }
                connection.wayEnded(to: count == 0 ? to : nil)
            }
        }
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}

/// The two sockets of a relayed connection, closed once nothing is relayed any more in either direction.
///
/// A side that has only closed its sending direction (nginx does before it closes) still receives: otherwise data from
/// the other side would reset the connection, and responses under way would be lost.
private final class RelayedConnection: Sendable {
    private let client: Int32
    private let server: Int32
    private let openWays = Monitor(2)
    /// Held while bytes are relayed in a direction.
    let passingToServer = NSLock()
    let passingToClient = NSLock()

    init(client: Int32, server: Int32) {
        self.client = client
        self.server = server
    }

    /// Returns once the bytes that are being relayed now have been sent.
    func waitForPassing() { for passing in [passingToServer, passingToClient] { passing.withLock {} } }

    func breakOff() { openWays.withLock { if $0 > 0 { shutDown() } } }

    /// - Parameter receiver: the socket whose sending direction is to be shut down; nil: the connection is broken.
    func wayEnded(to receiver: Int32?) {
        openWays.withLock { openWays in
            openWays -= 1
            if let receiver { shutdown(receiver, Int32(SHUT_WR)) } else { shutDown() }
            guard openWays == 0 else { return }
            close(client)
            close(server)
        }
    }

    private func shutDown() {
        shutdown(client, Int32(SHUT_RDWR))
        shutdown(server, Int32(SHUT_RDWR))
    }
}
