import DNSCache
import DNSResolver
import DNSWire
import Platform
import Scheduling

/// The one way of every query, over UDP and TCP: message rules, access list, cache.
///
/// Each thread has its own. A hit allocates nothing, and takes no lock but that of one part of the cache.
struct QueryHandler: Sendable {
    /// What is to be done about a message.
    enum Disposition: Equatable {
        /// Send what was written.
        case reply
        /// Nothing: it is no query, and an answer could start a loop of two servers.
        case ignore
        /// Ask the resolver; nothing was written.
        case miss
    }

    /// What a client is told, with SERVFAIL, when a limit is reached.
    static let overloaded = ExtendedError(.other, "too many queries wait for an answer")
    private static let prohibited = ExtendedError(.prohibited)

    private let cache: MemoryCache
    private let generation: PolicyGeneration
    private let shared: SharedClientRules
    /// A copy of the shared one, and the generation with which it was made.
    private let access: AccessList
    private let accessGeneration: UInt32
    /// Idle time-out offered to TCP clients that ask for it, in units of 100 ms (RFC 7828).
    private let keepalive: UInt16

    init(cache: MemoryCache, generation: PolicyGeneration, rules: SharedClientRules, keepalive: UInt16) {
        self.cache = cache
        self.generation = generation
        shared = rules
        // In this order: a list that is replaced meanwhile is copied once more.
        accessGeneration = generation.current
        access = rules.access
        self.keepalive = keepalive
    }

    /// Whether the policy, and perhaps the access list, has been replaced since this was made.
    @inline(__always)
    var isOutdated: Bool { generation.current != accessGeneration }

    /// The same with the access list that is in force now.
    var updated: QueryHandler {
        QueryHandler(cache: cache, generation: generation, rules: shared, keepalive: keepalive)
    }

    /// A query that was read from its message; lies in one place, for copies cost more than the reading.
    struct Prepared {
        fileprivate var query = Query()
        /// Means nothing for a query with a fault.
        fileprivate var ticket = MemoryCache.Ticket()
        /// Whether the message is to be answered at all.
        fileprivate var isQuery = false
    }

    /// Reads a message of a batch, and has the memory fetched in which its answer may lie.
    @inline(__always)
    func prepare(_ message: Span<UInt8>, in prepared: inout Prepared) {
        prepared.isQuery = prepared.query.read(message)
        // Raw values: comparing the wrapped ones across targets is a call through a witness table, on every hit.
        guard prepared.isQuery, prepared.query.fault.rawValue == 0 else { return }
        prepared.ticket = cache.prefetch(for: prepared.query, in: message)
    }

    /// Answers a message that came alone, or says who else must; the parameters are those of the other one.
    func handle(
        _ message: Span<UInt8>, from client: IPAddress, over transport: Transport, now: Instant,
        into reply: inout OutputSpan<UInt8>
    ) -> Disposition {
        var prepared = Prepared()
        prepare(message, in: &prepared)
        let disposition = handle(prepared, message, from: client, over: transport, now: now, into: &reply)
        guard disposition == .miss else { return disposition }
        return handleMiss(prepared, message, from: client, over: transport, now: now, into: &reply)
    }

    /// Answers a message from what is the same for all clients, or says who else must. After a miss `handleMiss` is to be
    /// called: it stands by itself so that a hit does not pay for it.
    ///
    /// - Parameters:
    ///   - prepared: what was read of this message.
    ///   - now: the present on the boot-time clock.
    ///   - reply: empty; gets the reply.
    @inline(__always)
    func handle(
        _ prepared: borrowing Prepared, _ message: Span<UInt8>, from client: IPAddress, over transport: Transport,
        now: Instant, into reply: inout OutputSpan<UInt8>
    ) -> Disposition {
        guard prepared.isQuery else { return .ignore }
        let query = prepared.query
        if query.fault.rawValue != 0 {
            return fail(query, message, query.fault, over: transport, into: &reply)
        }
        guard access.allows(client) else {
            return fail(query, message, .refused, error: Self.prohibited, over: transport, into: &reply)
        }
        guard query.class.rawValue == RecordClass.internet.rawValue, !query.type.isMeta else { return .miss }
        if query.hasKeepalive, transport == .tcp { return answerWithOptions(query, message, client, now, into: &reply) }
        let isHit = cache.answer(
            query, prepared.ticket, message: message, now: now, generation: generation.current,
            limit: limit(query, transport), into: &reply)
        return isHit ? .reply : .miss
    }

    /// Answers a miss from what is kept for the client's network alone; the parameters are those of the others.
    ///
    /// While a service is told clients' networks, names that it may be asked for are kept for one network each, and other
    /// names for all clients; never a name both ways under one generation of the policy. So the order of the two look-ups
    /// means nothing, nor does it whether the rules are of this generation: nothing is kept under keys of other rules.
    @inline(never)
    func handleMiss(
        _ prepared: borrowing Prepared, _ message: Span<UInt8>, from client: IPAddress, over transport: Transport,
        now: Instant, into reply: inout OutputSpan<UInt8>
    ) -> Disposition {
        let query = prepared.query
        guard query.class == .internet, !query.type.isMeta, let scope = scope(of: client, query, message) else {
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

    /// Answers from a copy of what is cached: the cache itself writes no options.
    @inline(never)
    private func answerWithOptions(
        _ query: Query, _ message: Span<UInt8>, _ client: IPAddress, _ now: Instant,
        into reply: inout OutputSpan<UInt8>
    ) -> Disposition {
        let entry =
            hit(QueryKey(query, in: message), now)
            ?? scope(of: client, query, message).flatMap { hit(QueryKey(query, in: message, scope: $0), now) }
        guard let entry else { return .miss }
        let isWritten = Reply.write(
            entry.answer, to: query, message: message, aging: .fresh(age: entry.age(at: now)),
            options: options(query, .tcp),
            limit: MessageBuilder.maximumLength, into: &reply)
        return isWritten ? .reply : .miss
    }

    private func hit(_ key: borrowing QueryKey, _ now: Instant) -> CacheEntry? {
        guard let entry = cache.entry(for: key), entry.generation == generation.current, entry.isHit(at: now) else {
            return nil
        }
        return entry
    }

    /// Turns a message away with a code, whatever it asks.
    @inline(never)
    func reject(
        _ message: Span<UInt8>, with code: ResponseCode, error: ExtendedError? = nil, over transport: Transport,
        into reply: inout OutputSpan<UInt8>
    ) -> Disposition {
        guard let query = Query.read(message) else { return .ignore }
        return fail(query, message, code, error: error, over: transport, into: &reply)
    }

    @inline(never)
    private func fail(
        _ query: Query, _ message: Span<UInt8>, _ code: ResponseCode, error: ExtendedError? = nil,
        over transport: Transport, into reply: inout OutputSpan<UInt8>
    ) -> Disposition {
        let isWritten = Reply.write(
            code, to: query, message: message, options: options(query, transport, error),
            limit: limit(query, transport),
            into: &reply)
        return isWritten ? .reply : .ignore
    }

    private func options(
        _ query: Query, _ transport: Transport, _ error: ExtendedError? = nil
    ) -> Reply.Options {
        Reply.Options(error: error, keepalive: transport == .tcp && query.hasKeepalive ? keepalive : nil)
    }

    private func limit(_ query: Query, _ transport: Transport) -> Int {
        switch transport {
        case .udp: query.udpLimit
        case .tcp: MessageBuilder.maximumLength
        }
    }
}
