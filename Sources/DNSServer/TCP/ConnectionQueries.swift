import DNSResolver
import DNSWire
import Platform

/// Answers the queries that come over connections, whatever these speak.
@Loop
final class ConnectionQueries {
    private let loop: EventLoop
    private var handler: QueryHandler
    private let pending: PendingQueries
    private let turns: TurnQueue
    private let feed: QueryFeed
    private let counters: ResponseCounters
    private let times: [LatencyHistogram]

    nonisolated init(
        _ handler: QueryHandler, pending: PendingQueries, turns: TurnQueue, feed: QueryFeed,
        counters: ResponseCounters, times: [LatencyHistogram], loop: EventLoop
    ) {
        (self.handler, self.pending, self.turns, self.loop) = (handler, pending, turns, loop)
        (self.feed, self.counters, self.times) = (feed, counters, times)
    }

    /// Whether a client is on the access list.
    func allows(_ client: IPAddress) -> Bool {
        if handler.isOutdated { handler = handler.updated }
        return handler.allows(client)
    }

    /// Answers a message, or says that the resolver must be asked. Responses are padded where the query wants it.
    ///
    /// - Returns: the response; nil with `isPending` true when it comes later, with `isPending` false when there is
    ///   none.
    func handle(_ message: [UInt8], of client: ConnectionClient) -> (reply: [UInt8]?, isPending: Bool) {
        var disposition = QueryHandler.Disposition.ignore
        if handler.isOutdated { handler = handler.updated }
        let began = Instant.bootTime
        let isPadded = client.transport.isEncrypted && Query.read(message.span)?.wantsPadding(in: message.span) == true
        let reply = ReplyBuffer.compose(isPadded: isPadded) { output in
            disposition = handler.handle(
                message.span, from: client.address.ip, isTrusted: client.isTrusted, over: client.transport,
                now: loop.now, into: &output)
        }
        guard disposition != .ignore else { return (nil, false) }
        if feed.isWanted { tell(of: message, disposition == .reply ? reply : [], client) }
        guard disposition == .reply else { return (nil, true) }
        if reply.count >= Header.length {
            let row = ResponseCounters.Row(client.transport, isIPv6: client.address.family == .ipv6)
            let answers = counters.answers(of: row)
            counters.add(reply[3], to: row)
            if counters.answers(of: row) > answers { times[AnswerKind.cache.rawValue].add(from: began, to: .bootTime) }
        }
        return (reply, false)
    }

    private func tell(of message: [UInt8], _ reply: [UInt8], _ client: ConnectionClient) {
        let time = Dnstap.TimeOfDay()
        let exchange = Dnstap.Exchange(
            client: client.address, transport: client.transport, queried: time[loop.now])
        let answered = feed.add(
            message.span, response: reply.span, exchange, responded: time[.bootTime], took: .zero)
        if let answered { feed.tell(answered) }
    }

    /// Asks the resolver.
    ///
    /// - Parameters:
    ///   - connection: which one the query came by, where another process may go on with it.
    ///   - reply: called once with the response, perhaps before this returns.
    func ask(
        _ message: [UInt8], of client: ConnectionClient, by connection: ObjectIdentifier? = nil,
        reply: @escaping @Loop ([UInt8]) -> Void
    ) {
        turns.count()
        pending.add(
            message, from: client.address, path: .connection(client.transport, connection, reply), arrived: loop.now)
    }
}
