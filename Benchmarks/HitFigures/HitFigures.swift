import DNSCache
import DNSWire
import Glibc
import Platform

/// Measures a look-up in the memory cache as a UDP thread makes it, without sockets: `HitFigures [ROUNDS]`.
///
/// Batches of 64 queries for names in random order, of 10,000 and of 1,000,000, each with A and AAAA cached. The two
/// take turns; printed is the median of the rounds, 10 by default.
@main
struct HitFigures {
    private static let batch = 64
    private static let batches = 300
    private static let longest = 512

    private let names: Int
    private let cache = MemoryCache(memory: 1 << 30)
    private var hits = 0
    private var replies = [UInt8](repeating: 0, count: Self.longest)

    static func main() throws {
        let rounds = CommandLine.arguments.count > 1 ? Int(CommandLine.arguments[1]) ?? 0 : 10
        var all = [try HitFigures(names: 10_000), try HitFigures(names: 1_000_000)]
        var times: [[Double]] = [[], []]
        for _ in 0..<max(rounds, 1) {
            for index in all.indices { times[index].append(try all[index].round()) }
        }
        for index in all.indices {
            let sorted = times[index].sorted()
            let share = Double(all[index].hits) / Double(sorted.count * Self.batches * Self.batch)
            print("\(all[index].names) names: \(Int(sorted[sorted.count / 2])) ns, \(Int(share * 100)) % hits")
        }
    }

    private init(names: Int) throws {
        self.names = names
        for number in 0..<names {
            for type in [RecordType.a, .aaaa] {
                let question = Question(name: try Self.name(number), type: type)
                let address: IPAddress = type == .a ? .v4(UInt32(number)) : .v6(UInt128(number))
                let answer = Answer(name: question.name, addresses: [address], ttl: 86_400)
                guard let packed = PackedAnswer(answer, for: question) else { continue }
                cache.store(
                    CacheEntry(answer: packed, storedAt: .bootTime, lifetime: 86_400, generation: 1),
                    for: QueryKey(question, dnssecOK: false, checkingDisabled: false))
            }
        }
    }

    private static func name(_ number: Int) throws -> Name { try Name("host-\(number).bench.example") }

    /// Nanoseconds of a look-up.
    private mutating func round() throws -> Double {
        var total: Int64 = 0
        for _ in 0..<Self.batches {
            let messages = try (0..<Self.batch).map { _ in
                Message(
                    id: 1, flags: .recursionDesired,
                    questions: [Question(name: try Self.name(.random(in: 0..<names)), type: .a)]
                ).encoded
            }
            let begin = Instant.bootTime
            answer(messages, at: begin)
            total += (Instant.bootTime - begin).nanoseconds
        }
        return Double(total) / Double(Self.batches * Self.batch)
    }

    private mutating func answer(_ messages: [[UInt8]], at now: Instant) {
        var queries = [Query](repeating: Query(), count: messages.count)
        var tickets = [MemoryCache.Ticket](repeating: MemoryCache.Ticket(), count: messages.count)
        for index in messages.indices {
            let message = messages[index]
            _ = queries[index].read(message.span)
            tickets[index] = cache.ticket(for: queries[index], in: message.span)
        }
        cache.prefetch(tickets.span)
        for index in messages.indices {
            let message = messages[index]
            replies.removeAll(keepingCapacity: true)
            replies.append(addingCapacity: Self.longest) { output in
                let isHit = cache.answer(
                    queries[index], tickets[index], message: message.span, now: now, generation: 1,
                    limit: Self.longest, into: &output)
                if isHit { hits += 1 }
            }
        }
    }
}
