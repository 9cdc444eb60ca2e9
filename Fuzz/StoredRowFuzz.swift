// Rows of the cache's file with any numbers, texts and bodies and a matching checksum, as in a file that was tampered
// with. What is read from them is within its ranges, and is processed like every row: the entry in memory, the response
// to a client, the reports, the row that is written again.

@testable import Admin
import DNSCache
import DNSResolver
import DNSWire
@testable import DiskCache

func fuzzStoredRow(_ input: [UInt8]) {
    guard let store = Store.shared else { preconditionFailure("no database in memory") }
    do throws(SQLiteError) {
        try store.play(Script(input))
    } catch {
        // Only the contents of the file may be wrong: every statement succeeds with a sound file.
        precondition(error.isDamage, "\(error)")
    }
}

extension Script {
    /// A number: usually `sound`, or one at an end of some range, or any.
    fileprivate mutating func integer(_ sound: Int64) -> Int64 {
        let choice = number()
        switch choice {
        case 0..<160: return sound
        case 160..<180: return sound &+ Int64(choice - 170)
        case 180..<190: return Int64.min &+ Int64(choice - 180)
        case 190..<200: return Int64.max &- Int64(choice - 190)
        case 200..<250:
            let power = Int64(1) << Int64(choice - 187)
            return Bool.random(from: &self) ? power : 0 &- power
        default: return Int64(bitPattern: bytes(8).reduce(0) { $0 << 8 | UInt64($1) })
        }
    }
}

extension Bool {
    fileprivate static func random(from script: inout Script) -> Bool { script.number() & 1 != 0 }
}

/// A database in memory.
private final class Store {
    nonisolated(unsafe) static let shared = try? Store()

    private static let today: Int64 = 1_800_000_000
    private let file: AnswerFile
    private let question: Question
    private let bodies: [PackedAnswer]

    init() throws(SQLiteError) {
        file = try AnswerFile(":memory:")
        guard let name = try? Name("www.example.com") else { throw SQLiteError(damaged: "no name") }
        question = Question(name: name, type: .a)
        let four = Answer(name: name, addresses: [.v4(0xc000_0201), .v4(0xc000_0202)], ttl: 300)
        let six = Answer(name: name, addresses: [.v6(7)], ttl: 300)
        bodies = [
            PackedAnswer(four, for: question), PackedAnswer(six, for: Question(name: name, type: .aaaa)),
        ].compactMap { $0 }
    }

    func play(_ script: Script) throws(SQLiteError) {
        var script = script
        try file.connection.execute("DELETE FROM answer; DELETE FROM state")
        let reading = WallClock(
            now: { [now = script.integer(5_000_000_000_000)] in Instant(nanoseconds: now) },
            secondsSince1970: { [day = script.integer(Self.today)] in day }
        ).reading
        precondition(WallClock.range.contains(reading.secondsSince1970))
        for _ in 0..<4 { try insertRow(&script) }
        try checkStates(&script)
        let staleMax = Duration.seconds(min(max(script.integer(86_400), 0), 1 << 40))
        let policy = FreshnessPolicy(staleMax: staleMax)
        try checkRows(&script, reading, policy)
        _ = try file.sweep(from: script.integer(1), count: 2, now: reading.secondsSince1970)
        try file.remove(.holding(.v6(7)))
        try file.remove(.suffix(question.name))
        try file.remove(.name(question.name))
    }

    /// Inserts a row with a checksum that matches its contents.
    private func insertRow(_ script: inout Script) throws(SQLiteError) {
        var key = QueryKey(question, dnssecOK: false, checkingDisabled: false).array
        if script.number() > 200 { key[script.number() % key.count] = UInt8(script.number()) }
        var value: [UInt8] = []
        for isSix in [false, true] where script.number() < 160 {
            let answer = bodies[isSix ? 1 : 0]
            let head = AnswerHead(
                isSix: isSix, isNegative: script.number() > 240,
                route: StoredRoute(rawValue: UInt16(script.number() & 3)) ?? .protect,
                responseCode: ResponseCode(rawValue: UInt16(script.number() > 240 ? script.number() & 15 : 0)),
                epoch: UInt16(script.number() & 1), storedAt: script.integer(Self.today - 100),
                lifetime: UInt32(truncatingIfNeeded: script.integer(300)), source: checksum(of: "vendor".utf8),
                policy: checksum(of: "policy".utf8), counts: answer.counts)
            head.append(to: &value, answer.body)
        }
        for _ in 0..<(script.number() & 3) where !value.isEmpty {
            let place = script.number() % value.count
            switch script.number() & 3 {
            case 0: value[place] = UInt8(script.number())
            case 1: value.remove(at: place)
            case 2: value.insert(UInt8(script.number()), at: place)
            default: value[place] ^= 1 << (script.number() & 7)
            }
        }
        let sum = checksum(of: key + value)
        value.append(sum, bytes: checksumSize)
        try file.connection.run(
            "INSERT OR REPLACE INTO answer (id, question, until, value) VALUES (?, ?, ?, ?)",
            .integer(script.integer(1)), .blob(key), .integer(script.integer(Self.today)), .blob(value))
    }

    /// Reads all rows, in pages, and uses each.
    private func checkRows(
        _ script: inout Script, _ reading: WallClock.Reading, _ policy: FreshnessPolicy
    ) throws(SQLiteError) {
        let memory = MemoryCache(memory: 1 << 16, policy: policy)
        var identity = PolicyIdentity(
            sources: [1: "vendor"], standIns: [], digest: "policy", generation: 7,
            route: { _, _ in 0 })
        identity.freshness = policy
        var next: Int64? = .max
        while let position = next {
            let page = try file.page(from: position, limit: 2)
            for answer in page.answers {
                check(answer)
                try use(answer, identity, reading, policy, memory, isAgeKnown: script.number() & 1 == 0)
            }
            precondition(page.next.map { $0 < position } ?? true, "the walk does not go on")
            next = page.next
        }
        if let answers = try? file.find(QueryKey(question, dnssecOK: false, checkingDisabled: false).array) {
            precondition([[], [.a], [.aaaa], [.a, .aaaa]].contains(answers.map(\.question.type)))
            for answer in answers { check(answer) }
        }
        let later = Instant(nanoseconds: script.integer(reading.now.nanoseconds))
        reply(from: memory, at: later)
    }

    /// Checks that an answer that was read is one that could have been written.
    private func check(_ answer: StoredAnswer) {
        precondition(WallClock.times.contains(answer.head.storedAt))
        precondition(AnswerHead.lifetimes.contains(answer.head.lifetime))
        let records = answer.answer.unpacked(for: answer.question)
        precondition(records?.answers.allSatisfy { $0.ttl <= AnswerHead.lifetimes.upperBound } ?? false)
    }

    private func use(
        _ answer: StoredAnswer, _ identity: PolicyIdentity, _ reading: WallClock.Reading, _ policy: FreshnessPolicy,
        _ memory: MemoryCache, isAgeKnown: Bool
    ) throws(SQLiteError) {
        for withRecords in [false, true] {
            let age = answer.age(at: reading.secondsSince1970)
            let report = CacheReport.Entry(
                answer.question, answer.answer, isSigned: false, isNegative: answer.head.isNegative, age: age,
                lifetime: Int(answer.head.lifetime), source: SourceName(.provider, provider: "vendor"),
                withRecords: withRecords)
            precondition(report.ttl >= 0 && report.age >= 0 && report.records.allSatisfy { $0.ttl >= 0 })
            precondition(!report.json.isEmpty)
        }
        let age = isAgeKnown ? max(0, reading.secondsSince1970 - answer.head.storedAt) : nil
        guard let entry = answer.entry(identity, reading.now, age: age) else { return }
        _ = entry.freshness(at: reading.now, policy)
        let key = answer.key
        _ = memory.storeIfAbsent(entry, for: key)
        guard let cached = memory.entry(for: key) else { return }
        _ = policy.refreshMargin(lifetime: cached.lifetime)
        // As it is written again, beside what the file has of the other address family.
        var changes = PendingChanges()
        changes.store(cached, for: key)
        _ = try file.write(changes.answers, identity, ClockMark(), reading)
    }

    /// Checks the response to a client.
    private func reply(from memory: MemoryCache, at now: Instant) {
        let bytes = Message(id: 1, flags: .recursionDesired, questions: [question]).encoded
        guard let query = Query.read(bytes.span) else { preconditionFailure("no query") }
        var isHit = false
        let reply = [UInt8](capacity: 4_096) { output in
            isHit = memory.answer(
                query, memory.ticket(for: query, in: bytes.span), message: bytes.span, now: now, generation: 7,
                limit: 4_096, into: &output)
        }
        guard isHit else { return }
        guard let message = try? MessageParser.parse(reply) else { preconditionFailure("a reply that cannot be read") }
        precondition(message.answers.allSatisfy { $0.ttl <= AnswerHead.lifetimes.upperBound })
    }

    /// Checks records besides the answers, and the stored state of the clock.
    private func checkStates(_ script: inout Script) throws(SQLiteError) {
        try file.connection.write(StateRecord(.calls, "vendor", value: "1", storedAt: script.integer(Self.today)))
        let text = "\(script.number()) \(script.integer(0))"
        if var mark = ClockMark(text, latest: script.integer(Self.today)) {
            mark.follow(min(max(script.integer(Self.today), 0), WallClock.range.upperBound))
            precondition(WallClock.range.contains(mark.former) && WallClock.range.contains(mark.latest))
        }
        let records = try file.connection.records()
        precondition(records.values.allSatisfy { WallClock.times.contains($0.storedAt) })
    }
}
