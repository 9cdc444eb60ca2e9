import TestSupport

/// One look-up by a `BulkClient`.
package struct Lookup: Sendable {
    package let question: TestMessage.Question
    /// Nil: no response arrived.
    package var reply: TestMessage?
    /// From the query to the response, less the time for which a busy machine stalled; zero without a response.
    package var time: Duration = .zero
    /// When the response arrived, by the client's clock; nil without a response.
    package var answered: Duration?
}

/// A client that asks many questions over one socket, a limited number at a time. It reads every response, which must
/// belong to exactly one of them.
package struct BulkClient {
    /// The transport of its questions.
    package enum Transport: Sendable, CaseIterable { case udp, tcp }

    private let client: PlainClient
    private let window: Int
    private let stopwatch = Stopwatch()

    /// The client's clock.
    package var now: Duration { stopwatch.fair }

    /// Opens the socket.
    ///
    /// - Parameters:
    ///   - window: the largest number of questions outstanding at a time, at most 65,536.
    ///   - source: the address to ask from; nil: the loopback address of the server's family.
    ///   - namespace: the client's network namespace; nil: that of the tests.
    package init(
        _ server: TestAddress, over transport: Transport = .udp, window: Int = 64, from source: String? = nil,
        namespace: NetworkNamespace? = nil
    ) throws {
        self.window = window
        let open = { try PlainClient(server, over: transport, from: source) }
        client = try namespace.map { try $0.inside(open) } ?? open()
    }

    /// Asks all questions, once each, in order, with RD set and an OPT record.
    ///
    /// - Parameter beforeEach: called before each question is sent, with its index.
    /// - Returns: the look-ups in the order of the questions.
    package func ask(
        _ questions: [TestMessage.Question], beforeEach: (Int) throws -> Void = { _ in }
    ) throws -> [Lookup] {
        try send(questions.map { .query($0.name, $0.type, edns: TestEDNS()) }, beforeEach: beforeEach)
    }

    /// Sends all queries, once each, in order; each has one question. Their IDs are chosen here.
    ///
    /// - Parameter beforeEach: called before each query is sent, with its index.
    /// - Returns: the look-ups in the order of the queries.
    package func send(_ queries: [TestMessage], beforeEach: (Int) throws -> Void = { _ in }) throws -> [Lookup] {
        var lookups = queries.map { Lookup(question: $0.questions[0]) }
        var open: [UInt16: (index: Int, sent: Duration)] = [:]
        var next = 0
        while next < queries.count || !open.isEmpty {
            while next < queries.count, open.count < window {
                try beforeEach(next)
                var query = queries[next]
                query.id = UInt16(truncatingIfNeeded: next)
                open[query.id] = (next, now)
                try client.send(query)
                next += 1
            }
            guard let reply = try client.receive(within: .patience) else {
                open = [:]
                continue
            }
            guard let (index, sent) = open.removeValue(forKey: reply.id), reply.isResponse,
                reply.questions == queries[index].questions
            else { throw TestFailure("a reply to nothing that is open: \(reply)") }
            let now = now
            lookups[index].reply = reply
            lookups[index].time = now - sent
            lookups[index].answered = now
        }
        return lookups
    }
}

/// A client over either transport.
enum PlainClient {
    case udp(TestDNSClient)
    case tcp(TestTCPClient)

    init(_ server: TestAddress, over transport: BulkClient.Transport, from source: String? = nil) throws {
        self =
            switch transport {
            case .udp: .udp(try TestDNSClient(server, from: source))
            case .tcp: .tcp(try TestTCPClient(server, from: source))
            }
    }

    func send(_ query: TestMessage) throws {
        switch self {
        case .udp(let client): try client.send(query)
        case .tcp(let client): try client.send([query])
        }
    }

    /// The next response; nil when none arrived in time.
    func receive(within limit: Duration) throws -> TestMessage? {
        switch self {
        case .udp(let client):
            guard let reply = try client.receiveIfAny(within: limit) else { return nil }
            guard reply.from == client.server else { throw TestFailure("a reply from \(reply.from)") }
            return reply.message
        case .tcp(let client): return try client.receive(within: limit)
        }
    }
}
