import DNSResolver
import DNSWire
import Platform
import Scheduling

/// Answers the queries that come over connections, whatever these speak.
@Loop
final class ConnectionQueries {
    /// Behind how many queries that wait for the loop none is added that is longer than what is retained of it afterwards:
    /// together they might take 64 KiB each. Hardly a client sends one.
    private nonisolated static let longQueries = 128

    private let loop: EventLoop
    private var handler: QueryHandler
    private let misses: Mailbox<MissedQuery>
    private let refusals: RefusalLimit
    private let feed: QueryFeed
    private let counters: ResponseCounters
    private let times: AnswerTimes

    nonisolated init(
        _ handler: QueryHandler, misses: Mailbox<MissedQuery>, refusals: RefusalLimit, feed: QueryFeed,
        counters: ResponseCounters, times: AnswerTimes, loop: EventLoop
    ) {
        self.handler = handler
        self.misses = misses
        self.refusals = refusals
        self.feed = feed
        self.counters = counters
        self.times = times
        self.loop = loop
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
        switch disposition {
        case .reply:
            if reply.count >= Header.length {
                let row = ResponseCounters.Row(client.transport, isIPv6: client.address.family == .ipv6)
                let answers = counters.answers(of: row)
                counters.add(reply[3], to: row)
                if counters.answers(of: row) > answers { times.add(.cache, from: began, to: .bootTime) }
            }
            if feed.isWanted { tell(of: message, reply, client) }
            return (reply, false)
        case .ignore: return (nil, false)
        case .miss:
            if feed.isWanted {
                feed.add(
                    query: message, response: nil, from: client.address, client.transport, arrived: loop.now)
            }
            return (nil, true)
        }
    }

    private func tell(of message: [UInt8], _ reply: [UInt8], _ client: ConnectionClient) {
        feed.add(query: message, response: reply, from: client.address, client.transport, arrived: loop.now)
        guard feed.isHandled else { return }
        let answered = AnsweredQuery(
            message.span, reply: reply.span, client: client.address.ip, transport: client.transport, took: .zero)
        if let answered { feed.tell(answered) }
    }

    /// Asks the resolver; the response is passed to `sink.send`, perhaps before this returns.
    func ask(_ message: [UInt8], of client: ConnectionClient, for sink: any ReplySink) {
        let query = MissedQuery(
            message: message, client: client.address, path: .connection(sink), arrived: loop.now)
        let isLong = message.count > PendingQuery.longestRetained
        guard isLong && misses.count >= Self.longQueries || !misses.post(query) else { return }
        refusals.refuseOverTCP()
        let reply = ReplyBuffer.compose(isPadded: false) { output in
            _ = handler.reject(
                message.span, with: .serverFailure, error: ExtendedError.overloaded, over: client.transport,
                into: &output)
        }
        sink.send(reply)
        guard feed.isWanted else { return }
        feed.add(response: reply[...], to: client.address, client.transport, arrived: query.arrived)
    }
}
