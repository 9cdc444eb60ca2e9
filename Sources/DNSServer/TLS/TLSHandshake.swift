import DNSResolver
import DNSWire
import Platform

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
        case nil: becomeConnection(stream)
        case .waits(let interest)?: if watch?.update(interest) == false { fail() }
        default: fail()
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

/// The header with which a proxy begins a connection: the PROXY protocol, version 2
/// (https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt, section 2.2).
struct ProxyHeader {
    enum Progress: Equatable {
        /// At most so many more bytes are to be read, at least one: what follows the header is TLS's.
        case needs(Int)
        /// - Parameter client: nil: the connection is the proxy's own, such as a check of health.
        case isDone(client: SocketAddress?)
        /// It is no header, or one of something else than TCP.
        case isInvalid
    }

    private static let signature: [UInt8] = [
        0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a,
    ]
    /// Bytes before the addresses.
    private static let fixed = 16
    /// The most bytes behind them: addresses, and what proxies add to them.
    private static let longest = 1_024

    private var bytes: [UInt8] = []

    /// Takes bytes that were received, no more than were needed.
    mutating func append(_ received: some Collection<UInt8>) { bytes += received }

    var progress: Progress {
        guard bytes.elementsEqual(Self.signature.prefix(bytes.count)) || bytes.count > Self.signature.count else {
            return .isInvalid
        }
        guard bytes.count >= Self.fixed else { return .needs(Self.fixed - bytes.count) }
        let length = Int(bytes[14..<16].number)
        guard bytes.starts(with: Self.signature), bytes[12] >> 4 == 2, length <= Self.longest else {
            return .isInvalid
        }
        guard bytes.count >= Self.fixed + length else { return .needs(Self.fixed + length - bytes.count) }
        switch (bytes[12] & 0xf, bytes[13]) {
        case (0, _), (1, 0): return .isDone(client: nil)
        case (1, 0x11) where length >= 12:
            let address = UInt32(truncatingIfNeeded: number(at: 0, bytes: 4))
            return .isDone(client: SocketAddress(ipv4: address, port: port(at: 8)))
        case (1, 0x21) where length >= 36:
            let (high, low) = (number(at: 0, bytes: 8), number(at: 8, bytes: 8))
            // A proxy that listens on both families reports a client of IPv4 as `::ffff:192.0.2.1`.
            if high == 0, low >> 32 == 0xffff {
                return .isDone(client: SocketAddress(ipv4: UInt32(truncatingIfNeeded: low), port: port(at: 32)))
            }
            return .isDone(client: SocketAddress(ipv6: high, low, port: port(at: 32)))
        default: return .isInvalid
        }
    }

    /// - Parameter place: behind the fixed part.
    private func number(at place: Int, bytes count: Int) -> UInt64 {
        bytes[Self.fixed...].dropFirst(place).prefix(count).number
    }

    private func port(at place: Int) -> UInt16 { UInt16(truncatingIfNeeded: number(at: place, bytes: 2)) }
}
