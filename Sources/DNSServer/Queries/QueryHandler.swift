import DNSCache
import DNSResolver
public import DNSWire
import Platform

/// Handles every query, over each transport: message rules, access list, cache.
///
/// Each thread has its own; an object, since a value would be copied for each query over a connection. A hit allocates
/// nothing, and takes no lock but that of one shard of the cache.
final class QueryHandler: Sendable {
    /// What the caller does with a message.
    enum Disposition: Equatable {
        /// Send the response that was written.
        case reply
        /// Nothing: the message is no query, and a response could start a loop between two servers.
        case ignore
        /// Ask the resolver; nothing was written.
        case miss
    }

    private static let prohibited = ExtendedError(.prohibited, "this client is not in listen.allow")

    private let cache: MemoryCache
    private let generation: PolicyGeneration
    private let shared: SharedClientRules
    /// A copy of the shared access list, and the generation with which it was made.
    private let access: AccessList
    private let accessGeneration: UInt32
    /// The idle time-out sent to clients over TCP and TLS that ask for it, in units of 100 ms (RFC 7828).
    private let keepalive: UInt16

    init(cache: MemoryCache, generation: PolicyGeneration, rules: SharedClientRules, keepalive: UInt16) {
        self.cache = cache
        self.generation = generation
        shared = rules
        // In this order: a list that is replaced meanwhile is copied again.
        accessGeneration = generation.current
        access = rules.access
        self.keepalive = keepalive
    }

    /// Whether the policy, and perhaps the access list, has been replaced since this was made.
    @inline(__always)
    var isOutdated: Bool { generation.current != accessGeneration }

    /// The same handler with the access list in force now.
    var updated: QueryHandler {
        QueryHandler(cache: cache, generation: generation, rules: shared, keepalive: keepalive)
    }

    /// A parsed query; it stays in one place, since copying costs more than parsing.
    struct Prepared {
        fileprivate var query = Query()
        /// Undefined for a query with a fault.
        fileprivate(set) var ticket = MemoryCache.Ticket()
        /// Whether the message is to be answered at all.
        fileprivate var isQuery = false
    }

    /// Parses a message, and begins to fetch the place in memory that says where its answer is.
    @inline(__always)
    func prepare(_ message: Span<UInt8>, in prepared: inout Prepared) {
        prepared.isQuery = prepared.query.read(message)
        // Raw values: comparing the wrapped ones across targets calls through a witness table, on every hit.
        guard prepared.isQuery, prepared.query.fault.rawValue == 0 else { return }
        prepared.ticket = cache.ticket(for: prepared.query, in: message)
    }

    /// Warms the CPU's cache with the memory in which the answers to a batch may be, once all of it is prepared.
    @inline(__always)
    func prefetch(_ tickets: Span<MemoryCache.Ticket>) { cache.prefetch(tickets) }

    /// Answers a message that came alone, or returns what the caller does with it; the parameters are those of the
    /// other overload.
    func handle(
        _ message: Span<UInt8>, from client: IPAddress, isTrusted: Bool = false, over transport: Transport,
        now: Instant, into reply: inout OutputSpan<UInt8>
    ) -> Disposition {
        var prepared = Prepared()
        prepare(message, in: &prepared)
        let disposition = handle(
            prepared, message, from: client, isTrusted: isTrusted, over: transport, now: now, into: &reply)
        guard disposition == .miss else { return disposition }
        return handleMiss(prepared, message, from: client, over: transport, now: now, into: &reply)
    }

    /// Whether `listen.allow` lets a client be answered.
    func allows(_ client: IPAddress) -> Bool { access.allows(client) }

    /// Answers a message from the entries that are the same for all clients, or returns what the caller does with it.
    /// After a miss `handleMiss` must be called: it is separate so that a hit does not pay for it.
    ///
    /// - Parameters:
    ///   - prepared: the result of `prepare` for this message.
    ///   - isTrusted: whether the client is answered whatever the access list says.
    ///   - now: the present time on the boot-time clock.
    ///   - reply: empty; receives the response.
    @inline(__always)
    func handle(
        _ prepared: borrowing Prepared, _ message: Span<UInt8>, from client: IPAddress, isTrusted: Bool = false,
        over transport: Transport, now: Instant, into reply: inout OutputSpan<UInt8>
    ) -> Disposition {
        guard prepared.isQuery else { return .ignore }
        let query = prepared.query
        if query.fault.rawValue != 0 {
            return answerFaulty(query, message, client, over: transport, into: &reply)
        }
        guard isTrusted || access.allows(client) else {
            return refuse(query, message, client, over: transport, now: now, into: &reply)
        }
        if query.hasCookie || query.hasKeepalive && transport.hasKeepalive {
            return answerWithOptions(query, message, client, transport, now, into: &reply)
        }
        // Comparisons first: most servers serve their own machine. By pattern: `==` calls through a witness table.
        if case .udp = transport, !Self.isOfThisMachine(client), isOverRate(client, now) {
            return Reply.writeTruncated(to: query, message: message, limit: query.udpLimit, into: &reply)
                ? .reply : .ignore
        }
        guard query.class.rawValue == RecordClass.internet.rawValue, !query.type.isMeta else { return .miss }
        let isHit = cache.answer(
            query, prepared.ticket, message: message, now: now, generation: generation.current,
            limit: limit(query, transport), into: &reply)
        return isHit ? .reply : .miss
    }

    /// Answers a miss from the entries cached for the client's network alone; the parameters are those of `handle`.
    ///
    /// While a service receives client networks, names that it may be asked for are cached for one network each, and
    /// other names for all clients; never one name both ways under one generation of the policy. So the order of the
    /// two look-ups does not matter, nor whether the rules are of this generation: nothing is cached under keys of
    /// other rules.
    @inline(never)
    func handleMiss(
        _ prepared: borrowing Prepared, _ message: Span<UInt8>, from client: IPAddress, over transport: Transport,
        now: Instant, into reply: inout OutputSpan<UInt8>
    ) -> Disposition {
        let query = prepared.query
        // With options the look-up was for both.
        guard query.class == .internet, !query.type.isMeta, !query.hasCookie,
            let scope = scope(of: client, query, message)
        else {
            return .miss
        }
        let isHit = cache.answer(
            query, key: QueryKey(query, in: message, scope: scope), message: message, now: now,
            generation: generation.current, limit: limit(query, transport), into: &reply)
        return isHit ? .reply : .miss
    }

    private func scope(of client: IPAddress, _ query: Query, _ message: Span<UInt8>) -> ClientScope? {
        shared.scoping?.scope(of: client, hidesNetwork: query.hidesNetwork(in: message))
    }

    @inline(__always)
    private static func isOfThisMachine(_ client: IPAddress) -> Bool {
        switch client {
        case .v4(let value): value >> 24 == 127
        case .v6(let value): value == 1
        }
    }

    /// Whether a client whose address may be forged gets no more for now.
    @inline(never)
    private func isOverRate(_ client: IPAddress, _ now: Instant) -> Bool {
        guard !shared.datagramRate.take(for: client, at: now) else { return false }
        shared.limited.add(client, at: now)
        return true
    }

    /// Answers what has no question that can be looked up; one that asks for a cookie gets it where clients are answered.
    @inline(never)
    private func answerFaulty(
        _ query: Query, _ message: Span<UInt8>, _ client: IPAddress, over transport: Transport,
        into reply: inout OutputSpan<UInt8>
    ) -> Disposition {
        guard query.fault == .badCookie else { return fail(query, message, query.fault, over: transport, into: &reply) }
        guard access.allows(client), let sent = shared.cookie(of: query, in: message, from: client) else {
            return fail(query, message, .formatError, over: transport, into: &reply)
        }
        let hasWrong = !sent.isValid && query.cookie(in: message)?.count != Cookie.clientLength
        return fail(
            query, message, hasWrong ? .badCookie : .noError, cookie: sent.cookie, over: transport, into: &reply)
    }

    /// Answers from a copy of the cache entry: the cache itself writes no options.
    @inline(never)
    private func answerWithOptions(
        _ query: Query, _ message: Span<UInt8>, _ client: IPAddress, _ transport: Transport, _ now: Instant,
        into reply: inout OutputSpan<UInt8>
    ) -> Disposition {
        let sent = query.hasCookie ? shared.cookie(of: query, in: message, from: client) : nil
        if transport == .udp, sent?.isValid != true, !Self.isOfThisMachine(client), isOverRate(client, now) {
            return fail(query, message, .badCookie, cookie: sent?.cookie, over: transport, into: &reply)
        }
        guard query.class == .internet, !query.type.isMeta else { return .miss }
        let key = QueryKey(query, in: message)
        let entry =
            hit(key, now)
            ?? scope(of: client, query, message).flatMap { hit(QueryKey(query, in: message, scope: $0), now) }
        guard let entry else {
            cache.noteMiss(key)
            return .miss
        }
        let isWritten = Reply.write(
            entry.answer, to: query, message: message, aging: .fresh(age: entry.age(at: now)),
            options: options(query, transport, nil, sent?.cookie), limit: limit(query, transport), into: &reply)
        return isWritten ? .reply : .miss
    }

    private func hit(_ key: borrowing QueryKey, _ now: Instant) -> CacheEntry? {
        guard let entry = cache.entry(for: key), entry.generation == generation.current, entry.isHit(at: now) else {
            return nil
        }
        cache.noteHit(key)
        return entry
    }

    /// Answers a message with a response code, whatever its question.
    @inline(never)
    func reject(
        _ message: Span<UInt8>, with code: ResponseCode, error: ExtendedError? = nil, over transport: Transport,
        into reply: inout OutputSpan<UInt8>
    ) -> Disposition {
        guard let query = Query.read(message) else { return .ignore }
        return fail(query, message, code, error: error, over: transport, into: &reply)
    }

    @inline(never)
    private func refuse(
        _ query: Query, _ message: Span<UInt8>, _ client: IPAddress, over transport: Transport, now: Instant,
        into reply: inout OutputSpan<UInt8>
    ) -> Disposition {
        shared.refused.add(client, at: now)
        // Its address may be forged: it gets hardly more than was sent.
        let most = transport == .udp ? message.count * 6 / 5 : .max
        return fail(query, message, .refused, error: Self.prohibited, over: transport, within: most, into: &reply)
    }

    @inline(never)
    private func fail(
        _ query: Query, _ message: Span<UInt8>, _ code: ResponseCode, error: ExtendedError? = nil,
        cookie: Cookie? = nil, over transport: Transport, within most: Int = .max, into reply: inout OutputSpan<UInt8>
    ) -> Disposition {
        let isWritten = Reply.write(
            code, to: query, message: message, options: options(query, transport, error, cookie),
            limit: min(most, limit(query, transport)), into: &reply)
        return isWritten ? .reply : .ignore
    }

    private func options(
        _ query: Query, _ transport: Transport, _ error: ExtendedError? = nil, _ cookie: Cookie? = nil
    ) -> Reply.Options {
        Reply.Options(
            error: error, keepalive: transport.hasKeepalive && query.hasKeepalive ? keepalive : nil, cookie: cookie)
    }

    private func limit(_ query: Query, _ transport: Transport) -> Int {
        switch transport {
        case .udp: query.udpLimit
        case .tcp, .tls, .https: MessageBuilder.maximumLength
        }
    }
}

extension Transport {
    /// Whether connections have an idle time-out that DNS itself tells (RFC 7828); HTTP has its own means.
    var hasKeepalive: Bool { self == .tcp || self == .tls }
}

extension ExtendedError {
    /// Returned with SERVFAIL when a limit is reached.
    public static let overloaded = ExtendedError(.other, "too many queries wait for an answer")
}
