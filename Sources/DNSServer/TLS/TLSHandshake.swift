import DNSResolver
import DNSWire
import Platform
import Scheduling

/// A client that has connected to an encrypted listener: the header of its proxy, if it comes from one, its ClientHello, and
/// its handshake. Then another connection takes its place.
final class TLSHandshake: ServedConnection {
    /// Steps of all handshakes in one turn of the loop. The dearest one, with a client's key on P-384, takes 1.5 ms.
    nonisolated static let stepsPerTurn = 2

    private let terms: TLSTerms
    private let queue: TurnQueue
    /// Makes what takes its place.
    private let next: @Loop (TLSStream, ConnectionClient) -> ServedConnection
    private let socket: StreamSocket
    /// Nil where no proxy is, and once its header was read.
    private var header: ProxyHeader?
    /// The beginning of its ClientHello.
    private var hello: [UInt8] = []
    private var input = HandshakeInput()
    /// Made when the ClientHello is whole: until then a connection takes little memory.
    private var stream: TLSStream?

    init(
        _ socket: StreamSocket, client: ConnectionClient, terms: TLSTerms, queue: TurnQueue,
        in context: ConnectionContext, then next: @escaping @Loop (TLSStream, ConnectionClient) -> ServedConnection
    ) {
        (self.socket, self.next, self.terms, self.queue) = (socket, next, terms, queue)
        header = terms.proxies.allows(client.address.ip) ? ProxyHeader() : nil
        super.init(socket.number, client, in: context)
    }

    override var due: Instant { lastActivity + limits.handshake }

    override func ready(_ interest: Interest) {
        if header != nil { return readHeader() }
        if stream == nil, !receiveHello() { return }
        if queue.hasRoom { return step() }
        // Its socket stays ready, and the loop would spin.
        watch?.update([])
        if !queue.wait(of: ClientNetwork(client.address.ip), { [weak self] in self?.step() }) { fail() }
    }

    // MARK: The proxy's header

    /// Reads no byte more than the header has.
    private func readHeader() {
        while case .needs(let count)? = header?.progress {
            var bytes = [UInt8](repeating: 0, count: count)
            switch socket.read(into: &bytes) {
            case .moved(let received): header?.append(bytes.prefix(received))
            case .waits: return
            case .ended, .failed: return fail()
            }
        }
        guard case .isDone(let address)? = header?.progress else { return fail() }
        header = nil
        guard let address else { return }
        client = ConnectionClient(address: address, transport: transport)
        tell?(self, .isIdentified)
    }

    // MARK: The handshake

    /// Returns whether the ClientHello is whole.
    private func receiveHello() -> Bool {
        while true {
            var buffer = [UInt8](repeating: 0, count: HandshakeInput.most - hello.count)
            let outcome = socket.read(into: &buffer)
            if case .waits = outcome { return false }
            guard case .moved(let count) = outcome else { break }
            hello += buffer[..<count]
            let verdict = input.append(buffer.span.extracting(first: count))
            if verdict == .passes { return true }
            guard verdict == .incomplete, hello.count < HandshakeInput.most else { break }
        }
        fail()
        return false
    }

    /// Takes what part of the handshake is possible now.
    private func step() {
        queue.count()
        guard !isClosed, let stream = stream ?? makeStream() else { return fail() }
        switch stream.shakeHands() {
        case .isDone: becomeConnection(stream)
        case .waits(let interest): if watch?.update(interest) == false { fail() }
        case .failed: fail()
        }
    }

    private func makeStream() -> TLSStream? {
        guard let context = terms.context else { return nil }
        stream = TLSStream(socket, context, isHTTP: transport == .https, received: hello, input)
        hello = []
        return stream
    }

    private func becomeConnection(_ stream: TLSStream) {
        guard end() else { return }
        if stream.isResumed { terms.counts.resumed += 1 } else { terms.counts.full += 1 }
        client.isTrusted = stream.isCertified
        tell?(self, .isFollowed(next(stream, client)))
    }

    // MARK: The end

    override func expire() { fail() }

    private func fail() {
        guard !isClosed else { return }
        terms.counts.failed += 1
        close()
    }

    override func close() {
        guard end() else { return }
        stream?.close()
        stream = nil
        socket.close()
        tell?(self, .isClosed(leaving: nil))
    }
}
