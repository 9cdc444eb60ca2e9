import DNSCache
import DNSWire

/// An instant, in seconds of the boot clock.
func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

func name(_ text: String) -> Name { (try? Name(text)) ?? .root }

/// A query as sent by a client, with what the server reads from it.
struct TestQuery {
    var bytes: [UInt8]
    let query: Query
    /// Not valid when the query has a fault.
    let key: QueryKey

    init(
        _ text: String, _ type: RecordType = .a, class: RecordClass = .internet, id: UInt16 = 0x1234,
        flags: HeaderFlags = .recursionDesired, edns: EDNS? = nil
    ) {
        self.init(
            bytes: Message(
                id: id, flags: flags, questions: [Question(name: name(text), type: type, class: `class`)], edns: edns
            ).encoded)
    }

    init(bytes: [UInt8]) {
        self.bytes = bytes
        query = Query.read(bytes.span) ?? Query()
        key = query.questionLength > 0 ? QueryKey(query, in: bytes.span) : QueryKey()
    }

    /// In lower case.
    var question: Question {
        let name = try? Name(wire: Array(bytes[query.nameRange])).lowercased
        return Question(name: name ?? .root, type: query.type, class: query.class)
    }
}

/// Runs `body` on an empty output of `capacity` bytes, and returns what was written.
func output(_ capacity: Int = 65_535, _ body: (inout OutputSpan<UInt8>) -> Void) -> [UInt8] {
    [UInt8](capacity: capacity) { span in body(&span) }
}

extension MemoryCache {
    /// The response of a hit; nil for a miss.
    func reply(
        to query: TestQuery, at now: Instant = at(1_000), generation: UInt32 = 1, limit: Int = 65_535,
        capacity: Int = 65_535
    ) -> [UInt8]? {
        var isHit = false
        let bytes = output(capacity) { span in
            isHit = answer(
                query.query, ticket(for: query.query, in: query.bytes.span), message: query.bytes.span, now: now,
                generation: generation,
                limit: limit, into: &span)
        }
        return isHit ? bytes : nil
    }

    /// The same, parsed.
    func message(to query: TestQuery, at now: Instant = at(1_000), generation: UInt32 = 1) throws -> Message? {
        try reply(to: query, at: now, generation: generation).map { try MessageParser.parse($0) }
    }

    /// Stores the answer to `query` as the loop would.
    @discardableResult
    func put(
        _ answer: Answer, for query: TestQuery, at now: Instant = at(1_000), lifetime: UInt32 = 300,
        generation: UInt32 = 1
    ) -> Bool {
        guard let packed = PackedAnswer(answer, for: query.question) else { return false }
        return store(
            CacheEntry(answer: packed, storedAt: now, lifetime: lifetime, generation: generation), for: query.key)
    }
}

/// A name of 255 bytes in wire form, the maximum.
let longestName =
    String(repeating: String(repeating: "x", count: 63) + ".", count: 3) + String(repeating: "y", count: 61) + "."

/// An answer of one A record, whose address is a checksum of the name.
func checksummed(_ text: String, ttl: UInt32 = 300) -> Answer {
    let checksum = name(text).wire.reduce(UInt32(17)) { ($0 &* 31) &+ UInt32($1) }
    return Answer(name: name(text), addresses: [.v4(checksum)], ttl: ttl)
}
