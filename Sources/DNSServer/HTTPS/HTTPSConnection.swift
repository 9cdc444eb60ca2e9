import DNSResolver
import Platform
import Scheduling

/// One client over HTTPS, from the end of its TLS handshake on.
@Loop
final class HTTPSConnection: ServedConnection {
    let client: ConnectionClient
    var ticket: FairShare.Ticket?
    private let stream: any ByteStream
    private let owner: any ConnectionOwner

    /// - Parameters:
    ///   - alpn: the protocol that the handshake chose, `h2` or `http/1.1`; nil: the client named none.
    init(_ stream: any ByteStream, client: ConnectionClient, alpn: String?, in owner: any ConnectionOwner) {
        self.stream = stream
        self.client = client
        self.owner = owner
    }

    var isIdle: Bool { true }

    func start() -> Bool {
        stream.close()
        return false
    }

    func finish() { close() }

    func close() {
        stream.close()
        owner.remove(self)
    }
}
