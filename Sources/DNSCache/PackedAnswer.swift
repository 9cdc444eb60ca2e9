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
    /// Where the TTL of each record begins, in bytes from the start of `body`; ascending, one for each record.
    public let ttlOffsets: [UInt16]
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
        ttlOffsets = builder.ttlOffsets
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
    public var isRotatable: Bool {
        let (body, offsets, answers) = (body.span, ttlOffsets.span, Int(counts.answer))
        guard let run = AddressRun(in: body, ttlOffsets: offsets, answers: answers) else { return false }
        return run.isSound(in: body, ttlOffsets: offsets, answers: answers)
    }

    /// Whether the answer section has a record of this type.
    public func holds(_ type: RecordType) -> Bool {
        ttlOffsets.prefix(Int(counts.answer)).contains { offset in
            // Type and class stand before a record's TTL.
            let start = Int(offset) - 4
            guard start >= 0, start + 2 <= body.count else { return false }
            return UInt16(body[start]) << 8 | UInt16(body[start + 1]) == type.rawValue
        }
    }

    /// Whether an A or AAAA record of the answer section has this address.
    public func holds(_ address: IPAddress) -> Bool { addresses.contains(address) }

    /// Puts together what a cache stored; the parts come from an answer packed before.
    public init(
        responseCode: ResponseCode, counts: SectionCounts, body: [UInt8], ttlOffsets: [UInt16], rotates: Bool = false
    ) {
        self.responseCode = responseCode
        self.counts = counts
        self.body = body
        self.ttlOffsets = ttlOffsets
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
    public var addresses: [IPAddress] {
        ttlOffsets.prefix(Int(counts.answer)).compactMap { address(ttlOffset: $0) }
    }

    /// The address in a record of class IN whose TTL begins at an offset; nil for a record of another type.
    private func address(ttlOffset: UInt16) -> IPAddress? {
        // Type and class stand before a record's TTL, the length of its data and the data behind it.
        let start = Int(ttlOffset) - 4
        guard start >= 0, start + 10 <= body.count, body[start] == 0, body[start + 2] == 0, body[start + 3] == 1
        else { return nil }
        let type = RecordType(rawValue: UInt16(body[start + 1]))
        let (data, count) = (start + 10, Int(body[start + 8]) << 8 | Int(body[start + 9]))
        guard type.isAddress, data + count <= body.count else { return nil }
        let address = IPAddress(bytes: body[data..<(data + count)])
        return address?.recordType == type ? address : nil
    }

    /// The longest TTL of all records, in seconds; 0 when there is none.
    public var longestTTL: UInt32 {
        ttlOffsets.reduce(0) { longest, offset in
            let bytes = body[Int(offset)..<min(Int(offset) + 4, body.count)]
            return max(longest, bytes.reduce(0) { $0 << 8 | UInt32($1) })
        }
    }

    /// An answer whose body has been out of our hands since it was packed, so nothing in it is believed, and whether it is
    /// negative; nil unless packing what the body says gives the same body.
    public static func checked(
        _ body: [UInt8], responseCode: ResponseCode, counts: SectionCounts, for question: Question
    ) -> (answer: PackedAnswer, isNegative: Bool)? {
        guard responseCode == .noError || responseCode == .nameError else { return nil }
        if let offsets = plainTTLOffsets(body, responseCode, counts, question) {
            let answer = PackedAnswer(responseCode: responseCode, counts: counts, body: body, ttlOffsets: offsets)
            return (answer, false)
        }
        let stored = PackedAnswer(responseCode: responseCode, counts: counts, body: body, ttlOffsets: [])
        guard let answer = stored.unpacked(for: question), let packed = PackedAnswer(answer, for: question),
            packed.body == body, packed.counts == counts
        else { return nil }
        return (packed, answer.isNegative(for: question.type))
    }

    /// The short way for most answers: addresses of the name itself, and nothing else. Nil for all others.
    private static func plainTTLOffsets(
        _ body: [UInt8], _ responseCode: ResponseCode, _ counts: SectionCounts, _ question: Question
    ) -> [UInt16]? {
        guard responseCode == .noError, question.type.isAddress, question.class == .internet, !question.name.isRoot,
            counts.answer > 0, counts.total == Int(counts.answer)
        else { return nil }
        let dataLength: UInt8 = question.type == .a ? 4 : 16
        // A pointer to the question's name, type, class; TTL; length of the data.
        let head: [UInt8] = [0xc0, 0x0c, 0, UInt8(truncatingIfNeeded: question.type.rawValue), 0, 1]
        let size = head.count + 6 + Int(dataLength)
        guard body.count == counts.total * size, body.count <= MessageBuilder.maximumLength / 2 else { return nil }
        var offsets: [UInt16] = []
        offsets.reserveCapacity(counts.total)
        for start in stride(from: 0, to: body.count, by: size) {
            let ttl = start + head.count
            guard body[start..<ttl].elementsEqual(head), body[ttl] < 0x80, body[ttl + 4] == 0,
                body[ttl + 5] == dataLength
            else { return nil }
            offsets.append(UInt16(truncatingIfNeeded: ttl))
        }
        return offsets
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

    /// Finds the run at the end of an answer section by where its TTLs are. Nil when there is none, or it leaves `body`.
    init?(in body: Span<UInt8>, ttlOffsets: Span<UInt16>, answers: Int) {
        guard answers > 1, answers <= ttlOffsets.count else { return nil }
        var index = answers &- 1
        var first = Int(ttlOffsets[index])
        guard first >= 6, first &+ 6 <= body.count else { return nil }
        let end = first
        let type = body[first &- 3]
        switch (type, body[first &+ 5]) {
        case (1, 4): size = 16
        case (28, 16): size = 28
        default: return nil
        }
        while index > 0 {
            let previous = Int(ttlOffsets[index &- 1])
            guard previous &+ size == first, previous >= 6, body[previous &- 3] == type else { break }
            first = previous
            index &-= 1
        }
        start = first &- 6
        count = answers &- index
        guard count > 1, end &- 6 &+ size <= body.count else { return nil }
    }

    /// Whether all are address records of class IN, and their owner the same pointer, which nothing stands before, in the
    /// same body in which the run was found.
    func isSound(in body: Span<UInt8>, ttlOffsets: Span<UInt16>, answers: Int) -> Bool {
        // A compression pointer begins with two bits set (RFC 1035 section 4.1.4).
        guard body[start] >= 0xc0, beginsRecord(in: body, ttlOffsets, before: answers &- count) else { return false }
        let (type, length): (UInt8, UInt8) = size == 16 ? (1, 4) : (28, 16)
        let heads: [2 of UInt8] = [body[start], body[start &+ 1]]
        for number in 0..<count {
            let at = start &+ number &* size
            guard body[at] == heads[0], body[at &+ 1] == heads[1], body[at &+ 2] == 0, body[at &+ 3] == type,
                body[at &+ 4] == 0, body[at &+ 5] == 1, body[at &+ 10] == 0, body[at &+ 11] == length
            else { return false }
        }
        return true
    }

    /// Whether the first record begins where the one before it ends, whose number is `index` less one.
    private func beginsRecord(in body: Span<UInt8>, _ ttlOffsets: Span<UInt16>, before index: Int) -> Bool {
        guard index > 0 else { return start == 0 }
        let length = Int(ttlOffsets[index &- 1]) &+ 4
        guard length &+ 2 <= start else { return false }
        return length &+ 2 &+ (Int(body[length]) << 8 | Int(body[length &+ 1])) == start
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
