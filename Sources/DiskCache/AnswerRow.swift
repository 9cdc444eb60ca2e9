import DNSCache
import DNSWire

/// What is known of one stored answer beside its records; stands before them in a row's value.
package struct AnswerHead: Equatable, Sendable {
    var isSix: Bool
    package var isNegative: Bool
    package var route: StoredRoute
    var responseCode: ResponseCode
    /// By which setting of the clock it was stored (`ClockMark.epoch`), and when, in seconds since 1970.
    var epoch: UInt16
    var storedAt: Int64
    /// Its original TTL, in seconds.
    package var lifetime: UInt32
    /// The source that gave the answer, and the policy under which it was stored, as `PolicyIdentity` numbers them.
    var source: UInt64
    var policy: UInt64
    var counts: PackedAnswer.SectionCounts

    /// Bytes of it, of which the last two are the length of the records.
    static let size = 35
    /// TTLs in seconds: up to the maximum of `cache.max_ttl`.
    static let lifetimes: ClosedRange<UInt32> = 1...7 * 86_400
    /// Times of storing are written as seconds since this one: as long before 1970 as the greatest age of an answer in
    /// memory.
    static let earliest = -(Int64(1) << 31)
    /// The last one that five bytes can say.
    private static let latest = earliest + (1 << 40) - 1

    /// Appends it, and then the records that it speaks of.
    func append(to bytes: inout [UInt8], _ body: Span<UInt8>) {
        bytes.append(addingCapacity: Self.size) { output in
            func append(_ number: some FixedWidthInteger, _ count: Int) {
                for shift in stride(from: (count - 1) * 8, through: 0, by: -8) {
                    output.append(UInt8(truncatingIfNeeded: number >> shift))
                }
            }
            let kind = (isSix ? 1 : 0) | (isNegative ? 2 : 0) | route.rawValue << 2 | responseCode.rawValue << 4
            append(kind, 1)
            append(epoch, 2)
            append(min(max(storedAt, Self.earliest), Self.latest) - Self.earliest, 5)
            append(lifetime, 3)
            append(source, 8)
            append(policy, 8)
            append(counts.answer, 2)
            append(counts.authority, 2)
            append(counts.additional, 2)
            append(body.count, 2)
        }
        bytes.append(body)
    }
}

extension AnswerHead {
    /// An answer in memory in terms that mean the same in the next process; nil for one that is not worth storing, since its
    /// source is not in the policy in force.
    init?(
        _ entry: CacheEntry, isSix: Bool, _ identity: PolicyIdentity, _ reading: WallClock.Reading, epoch: UInt16
    ) {
        guard let source = identity.numbers[entry.source], let route = StoredRoute(tag: entry.route) else { return nil }
        self.init(
            isSix: isSix, isNegative: entry.isNegative, route: route, responseCode: entry.answer.responseCode,
            epoch: epoch, storedAt: reading.secondsSince1970 - Int64(entry.age(at: reading.now)),
            lifetime: entry.lifetime, source: source,
            policy: entry.generation == identity.generation ? identity.number : 0, counts: entry.answer.counts)
    }

    /// Reads the bytes of one, which are as many as `size`.
    init(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        func next(_ count: Int) -> UInt64 {
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
        }
        let kind = UInt16(next(1))
        (isSix, isNegative) = (kind & 1 != 0, kind & 2 != 0)
        route = StoredRoute(rawValue: kind >> 2 & 3) ?? .forward
        responseCode = ResponseCode(rawValue: kind >> 4)
        epoch = UInt16(next(2))
        storedAt = Int64(next(5)) + Self.earliest
        lifetime = UInt32(next(3))
        (source, policy) = (next(8), next(8))
        counts = PackedAnswer.SectionCounts(
            answer: UInt16(next(2)), authority: UInt16(next(2)), additional: UInt16(next(2)))
    }
}

extension StoredAnswer {
    /// Reads the value of a row: the answers to its question, each a head and records, and a checksum of all. It is checked
    /// as if it had come from the network.
    ///
    /// Of a name's addresses A and AAAA are one row, since most services are asked for both at once; its question has the
    /// type A.
    ///
    /// - Parameter question: name in lower case, type, class, and a byte of flags, as in a `QueryKey`.
    /// - Returns: nil for a value that is not as it was written.
    static func read(_ value: [UInt8], of question: [UInt8]) -> [StoredAnswer]? {
        let (end, tail) = (value.count - Checksum.size, Array(question.suffix(5)))
        guard end > 0, question.count > 5, tail[4] < 4 else { return nil }
        var checksum = Checksum()
        checksum.add(question.span)
        checksum.add(value.span.extracting(..<end))
        guard value[end...].reduce(0, { $0 << 8 | UInt64($1) }) == checksum.value,
            let name = try? Name(wire: Array(question.dropLast(5)))
        else { return nil }
        let type = RecordType(rawValue: UInt16(tail[0]) << 8 | UInt16(tail[1]))
        let `class` = RecordClass(rawValue: UInt16(tail[2]) << 8 | UInt16(tail[3]))
        var answers: [StoredAnswer] = []
        var start = 0
        while start < end {
            let records = start + AnswerHead.size
            guard records <= end else { return nil }
            let next = records + (Int(value[records - 2]) << 8 | Int(value[records - 1]))
            let head = AnswerHead(value[start..<records])
            // AAAA stands last.
            guard next <= end, type != .aaaa, !head.isSix || type == .a,
                answers.last.map({ head.isSix && !$0.head.isSix }) ?? true,
                let answer = StoredAnswer(
                    Question(name: name, type: head.isSix ? .aaaa : type, class: `class`), flags: tail[4], head,
                    Array(value[records..<next]))
            else { return nil }
            answers.append(answer)
            start = next
        }
        return answers
    }

    private init?(_ question: Question, flags: UInt8, _ head: AnswerHead, _ records: [UInt8]) {
        guard AnswerHead.lifetimes.contains(head.lifetime), WallClock.times.contains(head.storedAt),
            let (answer, isNegative) = PackedAnswer.checked(
                records, responseCode: head.responseCode, counts: head.counts, for: question),
            answer.longestTTL <= AnswerHead.lifetimes.upperBound, isNegative == head.isNegative
        else { return nil }
        (self.question, self.head, self.answer) = (question, head, answer)
        (dnssecOK, checkingDisabled) = (flags & 1 != 0, flags & 2 != 0)
    }
}

extension [UInt8] {
    mutating func append(_ part: Span<UInt8>) {
        append(addingCapacity: part.count) { output in
            for index in part.indices { output.append(part[index]) }
        }
    }

    /// Makes the key of a question without a scope, which stands at the end, the question of its row: AAAA has its place in
    /// the row of A.
    ///
    /// - Parameter start: where the key begins.
    /// - Returns: whether the type was AAAA.
    mutating func makeRowQuestion(from start: Int = 0) -> Bool {
        let type = count - 4
        guard type > start, self[type - 1] == 0, self[type] == UInt8(RecordType.aaaa.rawValue) else { return false }
        self[type] = UInt8(RecordType.a.rawValue)
        return true
    }
}

/// FNV-1a with 64 bits: detects changes of a row by a failing disk. It is no protection against deliberate changes.
struct Checksum {
    private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    /// Bytes of it in a value.
    static let size = 8

    mutating func add(_ bytes: Span<UInt8>) {
        for index in bytes.indices { value = (value ^ UInt64(bytes[index])) &* 0x0000_0100_0000_01b3 }
    }

    /// Of a text alone; of no text, 0.
    static func number(of text: String) -> UInt64 {
        var checksum = Checksum()
        checksum.add(text.utf8Span.span)
        return text.isEmpty ? 0 : checksum.value
    }
}

/// Writes rows, many with one statement, since what SQLite does once for a statement is a part of a row's cost.
///
/// Rows that were ended wait for `finish`; all of it inside one transaction.
struct RowWriter: ~Copyable {
    /// The rows of one statement, and the values of a row.
    private static let batch = 16
    private static let width = 3
    /// The most bytes that wait, but for the last row's: an answer may have 64 KiB.
    private static let room = 64 << 10

    private let one: SQLiteStatement
    private let many: SQLiteStatement
    /// The rows that wait; their blobs are parts of `bytes`.
    private var values: [SQLiteStatement.Value] = []
    private var bytes: [UInt8] = []
    /// Where the question of the row that was begun stands; its value follows.
    private var question = 0..<0

    init(_ connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let insert: StaticString = "INSERT OR REPLACE INTO answer (until, question, value) VALUES "
        let one = try connection.prepare(insert, "(?, ?, ?)")
        many = try connection.prepare(insert, "(?, ?, ?)", rows: Self.batch)
        self.one = one
    }

    /// Begins a row, as the newest one; it replaces an older one of the same question. Its answers are added next.
    mutating func begin(_ question: Span<UInt8>) {
        let start = bytes.count
        bytes.append(question)
        self.question = start..<bytes.count
    }

    mutating func add(_ head: AnswerHead, _ body: Span<UInt8>) { head.append(to: &bytes, body) }

    /// Ends the row, or drops it where it has no answer.
    ///
    /// - Parameter until: after this time, in seconds since 1970, it may be removed; 0: it is not known.
    /// - Returns: whether it has an answer.
    mutating func end(until: Int64) throws(SQLiteError) -> Bool {
        guard bytes.count > question.upperBound else {
            bytes.removeLast(question.count)
            return false
        }
        var checksum = Checksum()
        checksum.add(bytes.span.extracting(question.lowerBound...))
        for shift in stride(from: 56, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: checksum.value >> shift))
        }
        values += [.integer(until), .part(question), .part(question.upperBound..<bytes.count)]
        if values.count == Self.batch * Self.width || bytes.count > Self.room { try finish() }
        return true
    }

    /// Writes the rows that wait.
    mutating func finish() throws(SQLiteError) {
        if values.count == Self.batch * Self.width {
            try many.run(values, parts: bytes)
        } else {
            for start in stride(from: 0, to: values.count, by: Self.width) {
                try one.run(Array(values[start..<start + Self.width]), parts: bytes)
            }
        }
        values.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: bytes.count <= Self.room)
    }
}
