public import DNSResolver
public import DNSWire
public import Platform
import Synchronization

/// Passes every answered query to a handler, while queries are logged or have listeners, and all messages to dnstap.
///
/// Off, it costs reading a flag for each batch of datagrams. On, UDP threads pass their queries to the loop through a
/// mailbox; queries that do not fit are left out and counted, since answering has priority.
public final class QueryFeed: Sendable {
    /// Queries on their way from the UDP threads to the loop: what the loop logs in a few milliseconds.
    private static let capacity = 1_024

    /// Whether queries are for the handler, and whether they are for anything.
    private let isOn = Atomic<Bool>(false)
    private let hasUse: Atomic<Bool>
    /// Nil when there is no collector.
    let dnstap: Dnstap?
    private let mailbox: Mailbox<AnsweredQuery>
    @Loop private var handler: (@Loop (AnsweredQuery) -> Void)?

    init(on loop: EventLoop, dnstap: Dnstap? = nil) {
        mailbox = Mailbox(capacity: Self.capacity, on: loop)
        self.dnstap = dnstap
        hasUse = Atomic(dnstap != nil)
    }

    /// Passes queries to the handler, or no more.
    public func turn(on isOn: Bool) {
        self.isOn.store(isOn, ordering: .relaxed)
        hasUse.store(isOn || dnstap != nil, ordering: .relaxed)
    }

    /// Whether the handler or dnstap wants queries.
    var isWanted: Bool { hasUse.load(ordering: .relaxed) }

    /// Whether the handler wants them.
    private var isHandled: Bool { isOn.load(ordering: .relaxed) }

    /// Sets the handler that receives the queries. Called once.
    ///
    /// - Parameter missed: called with the number of queries that were left out, if any.
    @Loop
    public func receive(
        _ handler: @escaping @Loop (AnsweredQuery) -> Void, missed: @escaping @Loop (Int) -> Void
    ) {
        self.handler = handler
        mailbox.receive { [mailbox] batch in
            for query in batch { handler(query) }
            let count = mailbox.takeRefused()
            if count > 0 { missed(count) }
        }
    }

    /// Posts a query. May be called from any thread.
    func post(_ query: AnsweredQuery) { _ = mailbox.post(query) }

    /// Passes a query to the handler; called on the loop.
    @Loop
    func tell(_ query: AnsweredQuery) { if isHandled { handler?(query) } }

    /// Adds a query to dnstap, and its response where it has one already. May be called from any thread.
    ///
    /// - Parameters:
    ///   - response: empty: it comes later.
    ///   - responded: when it was sent, in nanoseconds since 1970.
    ///   - producer: the number of the thread; nil: the loop.
    /// - Returns: what is for the handler, if anything.
    func add(
        _ query: Span<UInt8>, response: Span<UInt8>, _ exchange: Dnstap.Exchange, responded: UInt64, took: Duration,
        by producer: Int? = nil
    ) -> AnsweredQuery? {
        if let dnstap, Query.read(query) != nil {
            dnstap.add(query, exchange, by: producer ?? dnstap.last)
            if !response.isEmpty { dnstap.add(response, exchange, responded: responded, by: producer ?? dnstap.last) }
        }
        guard isHandled, !response.isEmpty else { return nil }
        return AnsweredQuery(
            query, reply: response, client: exchange.client.ip, transport: exchange.transport, took: took)
    }

    /// Adds a response of the loop to dnstap.
    @Loop
    func add(response: ArraySlice<UInt8>, to client: SocketAddress, _ transport: Transport, arrived: Instant) {
        guard let dnstap else { return }
        let time = Dnstap.TimeOfDay()
        dnstap.add(
            response.span, .init(client: client, transport: transport, queried: time[arrived]),
            responded: time[.bootTime], by: dnstap.last)
    }
}

/// A query and its response, for the log of queries and the listeners.
public struct AnsweredQuery: Sendable {
    public let client: IPAddress
    /// In whose share it waited for the resolver; nil: it did not.
    public let network: ClientNetwork?
    public let transport: Transport
    /// The question as received; nil when it could not be parsed.
    public let question: Question?
    public let responseCode: ResponseCode
    public let kind: AnswerKind
    /// The number of the source that was asked for the answer, or made it.
    public let source: UInt16?
    /// From the query's arrival to its response.
    public let took: Duration
}

extension AnsweredQuery {
    /// A query that was answered without the resolver: from the cache, or with an error.
    ///
    /// - Parameter reply: the response; only its header is read.
    init?(
        _ message: Span<UInt8>, reply: Span<UInt8>, client: IPAddress, transport: Transport, took: Duration
    ) {
        guard let query = Query.read(message), reply.count >= Header.length else { return nil }
        self.client = client
        network = nil
        self.transport = transport
        question = Question(query, in: message)
        let code = ResponseCode(rawValue: UInt16(reply[3] & 0xf))
        // The header's RCODE has no room for a code such as BADVERS.
        responseCode = code == .noError ? query.fault : code
        kind =
            switch responseCode {
            case .noError, .nameError: .cache
            case .serverFailure: .failure
            default: .rule
            }
        source = nil
        self.took = took
    }
}

extension Question {
    /// The question of a query that was parsed from `message`.
    init?(_ query: Query, in message: Span<UInt8>) {
        guard query.questionLength > 0 else { return nil }
        var wire: [UInt8] = []
        wire.append(addingCapacity: query.nameLength) { output in
            for index in 0..<query.nameLength { output.append(message[Header.length + index]) }
        }
        guard let name = try? Name(wire: wire) else { return nil }
        self.init(name: name, type: query.type, class: query.class)
    }
}

/// Counts responses by transport, address family and response code. One thread adds, and any may read.
final class ResponseCounters: Sendable {
    /// The RCODE field of a header has four bits (RFC 1035 section 4.1.1).
    private static let codes = 16
    /// Words before and after the counters, a cache line each: another thread's counters are never in the same one.
    private static let margin = 8

    /// The counters of a transport and family, as the place of the first one.
    struct Row: Sendable {
        fileprivate let start: Int

        init(_ transport: Transport, isIPv6: Bool) {
            let place =
                switch transport {
                case .udp: 0
                case .tcp: 2
                case .tls: 4
                case .https: 6
                }
            start = margin + (place + (isIPv6 ? 1 : 0)) * codes
        }
    }

    private let counts = InlineArray<144, Atomic<Int>> { _ in Atomic(0) }

    /// Adds a response.
    ///
    /// - Parameter flags: the fourth byte of its header, whose lower half is the response code.
    @inline(__always)
    func add(_ flags: UInt8, to row: Row) {
        let place = row.start + Int(flags & 0xf)
        // No other thread adds, so that this need not be one step.
        counts[place].store(counts[place].load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    /// How many responses of a transport and family are answers: NOERROR or NXDOMAIN.
    func answers(of row: Row) -> Int {
        counts[row.start].load(ordering: .relaxed)
            &+ counts[row.start + Int(ResponseCode.nameError.rawValue)].load(ordering: .relaxed)
    }

    /// Those of all `counters`, without those that are 0 but for NOERROR and SERVFAIL, whose rates are watched.
    ///
    /// - Parameter transports: those that are served.
    static func sum(_ counters: [ResponseCounters], of transports: [Transport]) -> [ResponseCount] {
        var sums: [ResponseCount] = []
        for transport in transports {
            for isIPv6 in [false, true] {
                let row = Row(transport, isIPv6: isIPv6)
                for code in 0..<codes {
                    let count = counters.reduce(0) { $0 &+ $1.counts[row.start + code].load(ordering: .relaxed) }
                    let code = ResponseCode(rawValue: UInt16(truncatingIfNeeded: code))
                    guard count > 0 || [.noError, .serverFailure].contains(code) else { continue }
                    sums.append(ResponseCount(transport: transport, isIPv6: isIPv6, code: code, count: count))
                }
            }
        }
        return sums
    }
}

/// How many responses had a transport, an address family and a response code.
public struct ResponseCount: Sendable {
    public let transport: Transport
    public let isIPv6: Bool
    public let code: ResponseCode
    public let count: Int
}
