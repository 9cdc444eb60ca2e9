import DNSCache
import DNSResolver
import DNSWire
import Platform
import Scheduling

/// Where the reply to a pending query goes.
enum ReplyPath: Sendable {
    case datagram(DatagramPath)
    case connection(TCPConnection)

    var transport: Transport {
        switch self {
        case .datagram: .udp
        case .connection: .tcp
        }
    }
}

/// One query that waits for the resolver.
@Loop
final class PendingQuery: Sendable {
    /// Header and question.
    private let message: [UInt8]
    private let query: Query
    private let question: Question
    private let arrived: Instant
    let client: IPAddress
    private let path: ReplyPath
    /// Those to which it belongs.
    let queries: PendingQueries
    /// What makes another datagram the same; nil over TCP, where nothing is sent twice.
    var identity: DatagramIdentity?
    var isFinished = false
    var guardTimer: LoopTimer?

    init(
        message: [UInt8], query: Query, question: Question, client: IPAddress, path: ReplyPath, arrived: Instant,
        of queries: PendingQueries
    ) {
        // The reply needs no more of it, and what follows may be 64 KiB of padding.
        self.message = Array(message.prefix(Header.length + query.questionLength))
        self.query = query
        self.question = question
        self.arrived = arrived
        self.client = client
        self.path = path
        self.queries = queries
    }

    /// Composes the reply and sends it, over UDP by way of `outbox`.
    func reply(_ response: Response, _ limits: ServerLimits, _ outbox: ReplyOutbox) {
        switch path {
        case .datagram(let path):
            let limit = query.udpLimit
            // Sendable, and so not the loop's: else the runtime would check at each call that it is on the loop.
            outbox.add(by: path, limit: limit) { @Sendable output in
                compose(response, limit: limit, keepalive: nil, into: &output)
            }
        case .connection(let connection):
            let keepalive = query.hasKeepalive ? limits.keepalive : nil
            let limit = MessageBuilder.maximumLength
            connection.send(
                [UInt8](capacity: limit) { @Sendable output in
                    compose(response, limit: limit, keepalive: keepalive, into: &output)
                })
        }
    }

    /// What the log of queries says of it.
    ///
    /// - Parameter now: read once in a turn of the loop, and so perhaps before the query arrived.
    func answered(with response: Response, at now: Instant) -> AnsweredQuery {
        AnsweredQuery(
            client: client, transport: path.transport, question: question, responseCode: response.responseCode,
            origin: response.origin, isStale: response.isStale, took: max(.zero, now - arrived))
    }

    private nonisolated func compose(
        _ response: Response, limit: Int, keepalive: UInt16?, into output: inout OutputSpan<UInt8>
    ) {
        let options = Reply.Options(error: response.extendedError, keepalive: keepalive)
        let message = message
        let bytes = message.span
        switch response.content {
        case .answer(let answer, let age):
            Reply.write(
                answer, to: query, message: bytes, aging: .fresh(age: age), options: options, limit: limit,
                into: &output)
        case .stale(let answer):
            Reply.write(
                answer, to: query, message: bytes, aging: .stale, options: options, limit: limit, into: &output)
        case .failure(let code):
            Reply.write(code, to: query, message: bytes, options: options, limit: limit, into: &output)
        }
    }
}

/// What makes a datagram the same as another: who sent it, to which address, with which ID and question.
struct DatagramIdentity: Hashable {
    private let client: SocketAddress
    private let server: SocketAddress
    private let local: UInt64
    private let localEnd: UInt64
    private let id: UInt16
    /// The question's bytes, in the client's letter case.
    private let question: ArraySlice<UInt8>

    /// The question's bytes eight at a time: a call of the hasher costs more than they do.
    func hash(into hasher: inout Hasher) {
        hasher.combine(client.low)
        var word = UInt64(client.port) << 16 | UInt64(id)
        var left = 4
        for byte in question {
            if left == 0 {
                hasher.combine(word)
                (word, left) = (0, 8)
            }
            word = word << 8 | UInt64(byte)
            left -= 1
        }
        hasher.combine(word)
    }

    init(_ query: Query, _ message: [UInt8], from client: SocketAddress, to path: DatagramPath) {
        self.client = client
        server = path.socket.address
        (local, localEnd) = path.local
        id = query.id
        question = message[Header.length..<(Header.length + query.questionLength)]
    }
}
