// Rows of the cache's file with any numbers, texts and bodies and a matching checksum, as in a file that was tampered
// with. What is read from them is within its ranges, and is processed like every row: the entry in memory, the response
// to a client, the reports, the row that is written again, the number of a new text.

@testable import Admin
import DNSCache
import DNSResolver
import DNSWire
@testable import DiskCache
import Scheduling

func fuzzStoredRow(_ input: [UInt8]) {
    guard let store = Store.shared else { preconditionFailure("no database in memory") }
    do throws(SQLiteError) {
        try store.play(Script(input))
    } catch {
        // Only the contents of the file may be wrong: every statement succeeds with a sound file.
        precondition(error.remedy == .replaceFile, "\(error)")
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

extension AnswerFile {
    fileprivate func write(_ stored: StoredAnswer) throws(SQLiteError) {
        let (key, answer) = (stored.key.array, stored.answer)
        try writer.beginRow(key.span)
        try writer.add(
            stored.facts, stored.type, body: answer.body.span, ttlOffsets: answer.ttlOffsets.span, &identities)
        try writer.finish()
    }
}

/// A database in memory, with the texts of a sound row.
private final class Store {
    nonisolated(unsafe) static let shared = try? Store()

    private static let today: Int64 = 1_800_000_000
    private let file: AnswerFile
    private let insert: SQLiteStatement
    private let question: Question
    private let sound: StoredAnswer
    /// The records of an answer of type AAAA.
    private let soundBody6: [UInt8]

    init() throws(SQLiteError) {
        file = try AnswerFile(":memory:")
        guard let name = try? Name("www.example.com") else { throw .damagedRow }
        question = Question(name: name, type: .a)
        let answer = Answer(name: name, addresses: [.v4(0xc000_0201), .v4(0xc000_0202)], ttl: 300)
        guard let packed = PackedAnswer(answer, for: question) else { throw .damagedRow }
        sound = StoredAnswer(
            name: name, type: .a, class: .internet, dnssecOK: false, checkingDisabled: false, answer: packed,
            isNegative: false, storedAt: Self.today - 100, lifetime: 300, source: "vendor", route: .protect,
            policy: "policy")
        let addresses6 = Answer(name: name, addresses: [.v6(7)], ttl: 300)
        guard let packed6 = PackedAnswer(addresses6, for: Question(name: name, type: .aaaa)) else { throw .damagedRow }
        soundBody6 = packed6.body
        try file.write(sound)
        insert = try file.connection.prepare(
            """
            INSERT OR REPLACE INTO answer
            (id, name, kind, stored, facts, body, stored6, facts6, body6, checksum)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
    }

    func play(_ script: Script) throws(SQLiteError) {
        var script = script
        try file.connection.execute("DELETE FROM answer; DELETE FROM state")
        let reading = WallClock(
            now: { [now = script.integer(5_000_000_000_000)] in Instant(nanoseconds: now) },
            secondsSince1970: { [day = script.integer(Self.today)] in day }
        ).reading
        precondition(StoredRange.clock.contains(reading.secondsSince1970))
        for _ in 0..<4 { try insertRow(&script) }
        try checkTexts(&script)
        try checkStates(&script)
        let staleMax = Duration.seconds(min(max(script.integer(86_400), 0), 1 << 40))
        let policy = FreshnessPolicy(staleMax: staleMax)
        try checkRows(&script, reading, policy)
        let last = try file.lastID()
        precondition(last == 0 || StoredRange.ids.contains(last))
        _ = try file.sweep(from: min(last, 1), count: last, now: reading.secondsSince1970, policy)
        try file.remove(.name(question.name))
        // The remaining file can be written to.
        try file.write(sound)
    }

    /// Inserts a row with a checksum that matches its contents.
    private func insertRow(_ script: inout Script) throws(SQLiteError) {
        let kind = script.integer(RowKind(.a, .internet, flags: 0).number)
        let which = script.number() & 3
        var checksum: UInt64 = 0
        let first = which == 3 ? nil : part(&script, kind, RowKind(number: kind)?.type ?? .a, &checksum)
        let second = which == 0 ? nil : part(&script, kind, .aaaa, &checksum)
        try insert.run(
            [.integer(script.integer(1)), .text("\(question.name)"), .integer(kind)]
                + (first ?? [.null, .null, .null]) + (second ?? [.null, .null, .null]) + [.bits(checksum)])
    }

    /// The columns of an answer of any contents, which are added to the checksum as the reader computes it.
    private func part(
        _ script: inout Script, _ kind: Int64, _ type: RecordType, _ checksum: inout UInt64
    ) -> [SQLiteStatement.Value] {
        let stored = script.integer(sound.storedAt)
        let facts = script.integer(sound.facts.number(source: 1, policy: 2))
        let counts =
            script.number() < 200 ? [type == .aaaa ? 1 : 2, 0, 0] : (0..<3).map { _ in UInt16(script.number()) }
        var body = type == .aaaa ? soundBody6 : sound.answer.body
        for _ in 0..<(script.number() & 7) where !body.isEmpty {
            let place = script.number() % body.count
            switch script.number() & 3 {
            case 0: body[place] = UInt8(script.number())
            case 1: body.remove(at: place)
            case 2: body.insert(UInt8(script.number()), at: place)
            default: body[place] ^= 1 << (script.number() & 7)
            }
        }
        var sum = Checksum()
        let wire = question.name.wire
        sum.add(wire.span)
        for number in [
            Int64(type.rawValue), kind >> 8 & 0xffff, kind & 0xff, facts >> 25 & 3, facts >> 21 & 15, facts >> 20 & 1,
            stored, facts & 0xf_ffff,
        ] { sum.add(number) }
        sum.add(file.identities.text(of: facts >> 27 & 0x3_ffff) ?? "")
        sum.add(file.identities.text(of: facts >> 45 & 0x3_ffff) ?? "")
        for count in counts { sum.add(count) }
        sum.add(body.span)
        checksum ^= sum.value
        let head = counts.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
        return [.integer(stored), .integer(facts), .blob(head + body)]
    }

    /// Reads all rows, in pages, and uses each.
    private func checkRows(
        _ script: inout Script, _ reading: WallClock.Reading, _ policy: FreshnessPolicy
    ) throws(SQLiteError) {
        let memory = MemoryCache(memory: 1 << 16, policy: policy)
        let identity = PolicyIdentity(
            sources: [1: sound.source], standIns: [], digest: sound.policy, generation: 7,
            route: { _, _ in 0 })
        var next: Int64? = .max
        while let position = next {
            let page = try file.page(from: position, limit: 2)
            for row in page.rows {
                check(row)
                for answer in row.answers {
                    try use(answer, identity, reading, policy, memory, isClockSound: script.number() & 1 == 0)
                }
            }
            precondition(page.next.map { $0 < position } ?? true, "the walk does not go on")
            next = page.next
        }
        if let key = try? Self.key(question), let row = try? file.find(key) { check(row) }
        let later = Instant(nanoseconds: script.integer(reading.now.nanoseconds))
        reply(from: memory, at: later)
    }

    private static func key(_ question: Question) throws -> [UInt8] {
        QueryKey(question, dnssecOK: false, checkingDisabled: false).array
    }

    /// Checks that a row that was read is one that could have been written.
    private func check(_ row: AnswerFile.Row) {
        precondition(StoredRange.ids.contains(row.id) && (1...2).contains(row.answers.count))
        precondition(row.answers.count == 1 || row.answers.map(\.type) == [.a, .aaaa])
        for answer in row.answers {
            precondition(StoredRange.times.contains(answer.storedAt))
            precondition(StoredRange.ttls.contains(Int64(answer.lifetime)))
            let records = answer.answer.unpacked(for: answer.question)
            precondition(records?.answers.allSatisfy { Int64($0.ttl) <= StoredRange.ttls.upperBound } ?? false)
        }
    }

    private func use(
        _ answer: StoredAnswer, _ identity: PolicyIdentity, _ reading: WallClock.Reading, _ policy: FreshnessPolicy,
        _ memory: MemoryCache, isClockSound: Bool
    ) throws(SQLiteError) {
        for withRecords in [false, true] {
            let age = answer.age(at: reading.secondsSince1970)
            let report = CacheReport.Entry(
                answer.question, answer.answer, isSigned: false, isNegative: answer.isNegative, age: age,
                lifetime: Int(answer.lifetime), source: SourceName(.provider, provider: answer.source),
                withRecords: withRecords)
            precondition(report.ttl >= 0 && report.age >= 0 && report.records.allSatisfy { $0.ttl >= 0 })
            precondition(!report.json.isEmpty)
        }
        guard let entry = answer.entry(identity, reading, isClockSound: isClockSound) else { return }
        _ = entry.freshness(at: reading.now, policy)
        let key = answer.key
        _ = memory.storeIfAbsent(entry, for: key)
        guard let cached = memory.entry(for: key) else { return }
        _ = policy.refreshMargin(lifetime: cached.lifetime)
        // As it is written again, beside what the file has of the other address family.
        var changes = AnswerChanges()
        changes.append(cached, for: key.array.span)
        do throws(SQLiteError) {
            _ = try file.write(changes, identity, reading, distrusted: isClockSound ? 0 : .max)
        } catch {
            // The row of the other address family is damaged.
            precondition(error.remedy == .replaceFile, "\(error)")
        }
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
        precondition(message.answers.allSatisfy { Int64($0.ttl) <= StoredRange.ttls.upperBound })
    }

    /// Checks the numbers of texts.
    private func checkTexts(_ script: inout Script) throws(SQLiteError) {
        guard script.number() > 200 else { return }
        try file.connection.execute("BEGIN")
        do throws(SQLiteError) {
            let add = try file.connection.prepare("INSERT OR REPLACE INTO identity (id, text) VALUES (?, ?)")
            try add.run([.integer(script.integer(2)), .text("other")])
            var texts = try IdentityTable(file.connection)
            let number = try texts.number(of: "other")
            precondition(StoredRange.ids.contains(number))
            _ = try texts.number(of: "new")
        } catch {
            try file.connection.execute("ROLLBACK")
            precondition(error.remedy == .replaceFile, "\(error)")
            return
        }
        try file.connection.execute("ROLLBACK")
    }

    /// Checks records besides the answers, and the stored state of the clock.
    private func checkStates(_ script: inout Script) throws(SQLiteError) {
        let record = StateRecord(.calls, "vendor", value: "1", storedAt: script.integer(Self.today))
        try file.write(record)
        let mark = AnswerFile.ClockMark(latest: script.integer(Self.today), distrusted: script.integer(0))
        try file.write(mark)
        if let states = try? file.states() {
            precondition(states.allSatisfy { StoredRange.times.contains($0.storedAt) })
        }
        if let mark = try? file.clockMark() { precondition(StoredRange.clock.contains(mark.latest)) }
        try file.tidyStates(now: Self.today)
    }
}
