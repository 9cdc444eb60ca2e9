package import DNSResolver
package import DNSWire

/// The servers of TLS handshakes, on the test's clock.
@Loop
package final class FakeHandshake: Handshake {
    /// The behaviour of the server at an address.
    package struct Server: Sendable {
        package var outcome: HandshakeOutcome
        package var delay: Duration
        /// The only port with this behaviour, the others being closed; nil: all ports.
        package var port: UInt16?

        package init(_ outcome: HandshakeOutcome, after delay: Duration = .zero, port: UInt16? = nil) {
            self.outcome = outcome
            self.delay = delay
            self.port = port
        }

        package static let honest = Server(.verified)
        package static let hijacker = Server(
            .wrongCertificate(
                CertificateEvidence(reason: "the certificate is for another name", subject: "CN=hijacker")))
        package static let refusing = Server(.noTLS)
        package static let silent = Server(.silent, after: .seconds(3_600))
        /// Accepts connections, and is silent then.
        package static let mute = Server(.unclear, after: .seconds(3_600))
        package static let unreachable = Server(.unreachable)
        package static let plain = Server(.noTLS)
    }

    /// One handshake that was started.
    package struct Attempt: Hashable, Sendable {
        package let address: String
        package let port: UInt16
        package let name: String

        package init(address: String, port: UInt16, name: String) {
            self.address = address
            self.port = port
            self.name = name
        }
    }

    /// By address; other addresses refuse connections.
    package var servers: [String: Server] = [:]
    /// Every handshake, in order.
    package private(set) var attempts: [Attempt] = []
    /// The number of handshakes under way, and the number of cancelled ones.
    package private(set) var underWay = 0
    package private(set) var cancelled = 0
    private let clock: any LoopClock

    package nonisolated init(clock: any LoopClock) { self.clock = clock }

    package func shakeHands(
        with address: IPAddress, port: UInt16, as name: Name, until deadline: Instant
    ) async -> HandshakeOutcome {
        attempts.append(Attempt(address: address.description, port: port, name: name.description))
        var server = servers[address.description] ?? .refusing
        if let only = server.port, only != port { server = .refusing }
        underWay += 1
        defer { underWay -= 1 }
        guard server.delay > .zero else { return server.outcome }
        let due = clock.now + server.delay
        guard await clock.sleep(until: min(due, deadline)) else {
            cancelled += 1
            return .cancelled
        }
        return due < deadline || server.outcome == .unclear ? server.outcome : .silent
    }
}
