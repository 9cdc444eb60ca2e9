import DNSWire

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

    /// Finds the run by where its TTLs lie. Nil when there is none, or part of it would lie outside of `body`.
    ///
    /// - Parameter answers: records of the answer section.
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

    /// Whether all are address records of class IN, and their owner the same pointer, which nothing stands before.
    ///
    /// - Parameters:
    ///   - body: the one in which the run was found, as are the other two.
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
