public import DNSWire

/// An answer in the form in which it is cached and sent: what follows the question in a message, ready to be copied.
///
/// Names in it are compressed against a question of exactly the same name at byte 12, so the body can be put behind any
/// client's spelling of that question.
public struct PackedAnswer: Equatable, Sendable {
    /// The header's four bits of the RCODE.
    public let responseCode: ResponseCode
    public let counts: SectionCounts
    /// The answer, authority and additional sections, without OPT.
    public let body: [UInt8]
    /// Whether each response gives its addresses in an order of its own, which the query's ID chooses; only for an
    /// answer that `isRotatable`.
    public var rotates = false

    /// How many records the answer, authority and additional sections hold, OPT not counted.
    public struct SectionCounts: BitwiseCopyable, Equatable, Sendable {
        public var answer: UInt16
        public var authority: UInt16
        public var additional: UInt16

        public init(answer: UInt16 = 0, authority: UInt16 = 0, additional: UInt16 = 0) {
            self.answer = answer
            self.authority = authority
            self.additional = additional
        }

        /// Records in all.
        public var total: Int { Int(answer) + Int(authority) + Int(additional) }
    }

    /// Bytes kept free for an OPT record with a keepalive option, so that a packed answer always fits over TCP.
    static let optRoom = EDNS.recordLength + 6

    /// Packs an answer to `question`; an RCODE above 15, which a header cannot hold, becomes SERVFAIL. Nil when the message
    /// would be longer than 65,535 bytes.
    public init?(_ answer: borrowing Answer, for question: borrowing Question) {
        let code = answer.responseCode
        responseCode = code.rawValue <= 15 ? code : .serverFailure
        let counts = SectionCounts(
            answers: answer.answers.count, authorities: answer.authorities.count, additionals: answer.additionals.count)
        guard let counts else { return nil }
        self.counts = counts

        var builder = MessageBuilder(behind: copy question, recordCount: counts.total)
        let longest = MessageBuilder.maximumLength - Self.optRoom
        guard builder.append(answer.answers, to: .answer, upTo: longest),
            builder.append(answer.authorities, to: .authority, upTo: longest),
            builder.append(answer.additionals, to: .additional, upTo: longest)
        else { return nil }
        body = builder.bytes
    }

    /// The records again, of an answer that was packed for `question`; nil for another one.
    public func unpacked(for question: Question) -> Answer? {
        var builder = MessageBuilder(id: 0, flags: [])
        builder.append(question)
        var bytes = builder.bytes + body
        for (place, count) in [(6, counts.answer), (8, counts.authority), (10, counts.additional)] {
            bytes[place] = UInt8(truncatingIfNeeded: count >> 8)
            bytes[place + 1] = UInt8(truncatingIfNeeded: count)
        }
        guard let message = try? MessageParser.parse(bytes) else { return nil }
        return Answer(
            responseCode: responseCode, answers: message.answers, authorities: message.authorities,
            additionals: message.additionals)
    }

    /// Whether it holds two addresses or more whose order can be changed and nothing else: they end the answer section,
    /// and all have the same owner. Signatures behind them keep them in their order.
    public var isRotatable: Bool { AddressRun(in: body.span, answers: Int(counts.answer)) != nil }

    /// Whether the answer section has a record of this type.
    public func holds(_ type: RecordType) -> Bool {
        answers.contains { UInt16(body[$0.ttl - 4]) << 8 | UInt16(body[$0.ttl - 3]) == type.rawValue }
    }

    /// Where the records of the answer section are.
    private var answers: some Sequence<RecordPlace> { records.lazy.prefix(Int(counts.answer)) }

    /// Where all records are.
    private var records: some Sequence<RecordPlace> {
        sequence(state: 0) { [body] start in
            guard let record = RecordPlace(in: body.span, at: start) else { return nil }
            start = record.end
            return record
        }
    }

    /// Whether an A or AAAA record of the answer section has this address.
    public func holds(_ address: IPAddress) -> Bool { addresses.contains(address) }

    /// Puts together what a cache stored; the parts come from an answer packed before.
    public init(responseCode: ResponseCode, counts: SectionCounts, body: [UInt8], rotates: Bool = false) {
        self.responseCode = responseCode
        self.counts = counts
        self.body = body
        self.rotates = rotates
    }
}

extension PackedAnswer.SectionCounts {
    /// Nil when a section has more records than 16 bits can count.
    fileprivate init?(answers: Int, authorities: Int, additionals: Int) {
        guard let answers = UInt16(exactly: answers), let authorities = UInt16(exactly: authorities),
            let additionals = UInt16(exactly: additionals)
        else { return nil }
        self.init(answer: answers, authority: authorities, additional: additionals)
    }
}

extension MessageBuilder {
    /// Returns whether the message has at most `longest` bytes.
    fileprivate mutating func append(_ records: [Record], to section: Section, upTo longest: Int) -> Bool {
        for index in records.indices {
            append(records[index], to: section)
            guard length <= longest else { return false }
        }
        return true
    }
}

// What the disk keeps of an answer, on its way there and back.

extension PackedAnswer {
    /// The addresses of the A and AAAA records in the answer section.
    public var addresses: [IPAddress] { answers.compactMap { address(of: $0) } }

    /// The address in a record of class IN; nil for a record of another type.
    private func address(of record: RecordPlace) -> IPAddress? {
        let head = body[(record.ttl - 4)..<record.ttl]
        guard let address = IPAddress(bytes: body[(record.ttl + 6)..<record.end]) else { return nil }
        return head.elementsEqual([0, UInt8(address.recordType.rawValue), 0, 1]) ? address : nil
    }

    /// The longest TTL of all records, in seconds; 0 when there is none.
    public var longestTTL: UInt32 {
        records.reduce(0) { longest, record in
            max(longest, body[record.ttl..<(record.ttl + 4)].reduce(0) { $0 << 8 | UInt32($1) })
        }
    }

    /// An answer whose body has been out of our hands since it was packed, so nothing in it is believed, and whether it is
    /// negative; nil unless packing what the body says gives the same body.
    public static func checked(
        _ body: [UInt8], responseCode: ResponseCode, counts: SectionCounts, for question: Question
    ) -> (answer: PackedAnswer, isNegative: Bool)? {
        guard responseCode == .noError || responseCode == .nameError else { return nil }
        let stored = PackedAnswer(responseCode: responseCode, counts: counts, body: body)
        if stored.isPlain(for: question) { return (stored, false) }
        guard let answer = stored.unpacked(for: question), let packed = PackedAnswer(answer, for: question),
            packed.body == body, packed.counts == counts
        else { return nil }
        return (packed, answer.isNegative(for: question.type))
    }

    /// Whether it is as most answers are: addresses of the name itself, and nothing else.
    private func isPlain(for question: Question) -> Bool {
        guard responseCode == .noError, question.type.isAddress, question.class == .internet, !question.name.isRoot,
            counts.answer > 0, counts.total == Int(counts.answer)
        else { return false }
        let dataLength: UInt8 = question.type == .a ? 4 : 16
        // A pointer to the question's name, type, class; TTL; length of the data.
        let head: [UInt8] = [0xc0, 0x0c, 0, UInt8(truncatingIfNeeded: question.type.rawValue), 0, 1]
        let size = head.count + 6 + Int(dataLength)
        guard body.count == counts.total * size, body.count <= MessageBuilder.maximumLength / 2 else { return false }
        return stride(from: 0, to: body.count, by: size).allSatisfy { start in
            let ttl = start + head.count
            return body[start..<ttl].elementsEqual(head) && body[ttl] < 0x80 && body[ttl + 4] == 0
                && body[ttl + 5] == dataLength
        }
    }
}

/// Where a record of a body is, in bytes from its start: type and class stand before the TTL, the length of the data and the
/// data behind it.
struct RecordPlace {
    let ttl: Int
    /// Where the next one begins.
    let end: Int

    /// Finds the record that begins at `start`; nil when it leaves the body.
    @inline(__always)
    init?(in body: Span<UInt8>, at start: Int) {
        var at = start
        // Labels of the owner, which the root or a pointer ends (RFC 1035 section 4.1.4).
        while at < body.count, body[at] > 0, body[at] < 0xc0 { at &+= 1 &+ Int(body[at]) }
        guard at < body.count else { return nil }
        ttl = at &+ (body[at] == 0 ? 5 : 6)
        guard ttl &+ 6 <= body.count else { return nil }
        end = ttl &+ 6 &+ (Int(body[ttl &+ 4]) &<< 8 | Int(body[ttl &+ 5]))
        guard end <= body.count else { return nil }
    }
}

/// The A or AAAA records of one owner at the end of an answer section: the ones whose order may be changed.
///
/// They are all equally long, so records that change places leave every TTL, and every name a pointer leads to, where it
/// was.
struct AddressRun {
    /// Where the first of them begins, in bytes from the start of the body.
    let start: Int
    /// Bytes of each: 16 of an A record, 28 of an AAAA record.
    let size: Int
    /// At least 2.
    let count: Int

    /// Finds the run at the end of an answer section; nil when there is none, or a record leaves `body`.
    init?(in body: Span<UInt8>, answers: Int) {
        var (at, start, size, count) = (0, 0, 0, 0)
        var head = 0 as UInt64
        for _ in 0..<answers {
            guard let record = RecordPlace(in: body, at: at) else { return nil }
            let length = record.end &- at
            // A pointer, type and class: a record has eleven bytes at least.
            let own = unsafe body.bytes.word(at: at) & 0xffff_ffff_ffff
            if length == size, own == head {
                count &+= 1
            } else {
                let isA = own >> 16 == 0x0100_0100 && length == 16
                let isAddress = record.ttl == at &+ 6 && (isA || own >> 16 == 0x0100_1c00 && length == 28)
                (start, size, count, head) = (at, isAddress ? length : 0, 1, own)
            }
            at = record.end
        }
        guard count > 1 else { return nil }
        (self.start, self.size, self.count) = (start, size, count)
    }

    /// How many of them, from the first one on, change places with the others in the response to a query with this ID, so
    /// that another address comes first: each for equally many IDs, also among even IDs alone, or consecutive ones. 0: the
    /// order stays as it is.
    func shift(id: UInt16) -> Int {
        // Multiplied by 65,536 divided by the golden ratio, which spreads neighbours (Knuth, volume 3, section 6.4),
        // and then scaled from 16 bits to the number of addresses. A run has at most 4,096 of them.
        (Int(id &* 40_503) &* count) >> 16
    }
}
