import DNSWire

/// Two neighbouring parts of an answer that change places in one response, so that another address comes first.
struct AddressRotation {
    /// Where the first part begins, the second begins, and the second ends, in bytes from the start of the body;
    /// ascending.
    let start: Int
    let middle: Int
    let end: Int

    /// The one that a query's ID chooses: each address comes first for equally many IDs, also among even IDs alone, or
    /// consecutive ones.
    ///
    /// - Returns: nil for an answer without two addresses, and when the order stays as it is.
    init?(of body: Span<UInt8>, ttlOffsets: Span<UInt16>, answers: Int, id: UInt16) {
        guard let run = AddressRun(in: body, ttlOffsets: ttlOffsets, answers: answers) else { return nil }
        // Multiplied by 65,536 divided by the golden ratio, which spreads neighbours (Knuth, volume 3, section 6.4),
        // and then scaled from 16 bits to the number of addresses. A run has at most 4,096 of them.
        let spread = Int(id &* 40_503)
        let shift = (spread &* run.count) >> 16
        guard shift > 0 else { return nil }
        start = run.start
        middle = run.start &+ shift &* run.size
        end = run.start &+ run.count &* run.size
    }

    /// Whether both parts lie within so many bytes.
    func isWithin(_ count: Int) -> Bool { start >= 0 && start <= middle && middle <= end && end <= count }
}
