package import DNSResolver
package import DNSWire
package import Platform
import Scheduling
import Synchronization

/// Passes every answered query to a handler, while queries are logged or have listeners, and all messages to dnstap.
///
/// Off, it costs reading a flag for each batch of datagrams. On, UDP threads pass their queries to the loop through a
/// mailbox; queries that do not fit are left out and counted, since answering has priority.
package final class QueryFeed: Sendable {
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
    package func turn(on isOn: Bool) {
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
    package func receive(
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
package struct AnsweredQuery: Sendable {
    package let client: IPAddress
    /// In whose share it waited for the resolver; nil: it did not.
    package let network: ClientNetwork?
    package let transport: Transport
    /// The question as received; nil when it could not be parsed.
    package let question: Question?
    package let responseCode: ResponseCode
    package let kind: AnswerKind
    /// The number of the source that was asked for the answer, or made it.
    package let source: UInt16?
    /// From the query's arrival to its response.
    package let took: Duration
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
