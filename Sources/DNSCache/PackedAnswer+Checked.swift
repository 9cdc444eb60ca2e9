package import DNSWire

// What the disk keeps of an answer, on its way there and back.

extension PackedAnswer {
    /// The addresses of the A and AAAA records in the answer section.
    package var addresses: [IPAddress] {
        (0..<min(Int(counts.answer), ttlOffsets.count)).compactMap {
            Self.address(in: body.span, ttlOffset: ttlOffsets[$0])
        }
    }

    /// The address in a record of class IN; nil for a record of another type.
    ///
    /// - Parameters:
    ///   - body: as in `body`.
    ///   - ttlOffset: where the record's TTL begins there.
    package static func address(in body: Span<UInt8>, ttlOffset: UInt16) -> IPAddress? {
        // Type and class stand before a record's TTL, the length of its data and the data behind it.
        let start = Int(ttlOffset) - 4
        guard start >= 0, start + 10 <= body.count, body[start] == 0, body[start + 2] == 0, body[start + 3] == 1
        else { return nil }
        let type = RecordType(rawValue: UInt16(body[start + 1]))
        let (data, count) = (start + 10, Int(body[start + 8]) << 8 | Int(body[start + 9]))
        guard type.isAddress, data + count <= body.count else { return nil }
        guard let address = IPAddress(bytes: body.extracting(data..<(data + count))), address.recordType == type else {
            return nil
        }
        return address
    }

    /// The longest TTL of all records, in seconds; 0 when there is none.
    package var longestTTL: UInt32 {
        ttlOffsets.reduce(0) { longest, offset in
            let bytes = body[Int(offset)..<min(Int(offset) + 4, body.count)]
            return max(longest, bytes.reduce(0) { $0 << 8 | UInt32($1) })
        }
    }

    /// An answer whose body was packed once, and has been out of our hands since: nothing in it is believed.
    ///
    /// - Returns: the answer, and whether it is negative; nil unless packing what the body says gives the same body.
    package static func checked(
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
