import DNSWire

extension Answer {
    /// An authenticated answer with HTTPS or SVCB records of a protected name, as a client gets it: without address hints.
    ///
    /// Hints reach browsers past A and AAAA, which they ask for anyway (RFC 9460 section 7.3), and past the routes of the
    /// names that they stand for. Everything else stays byte for byte, `ech` included: its keys come from the same source.
    ///
    /// - Parameter keepsSigned: whether the client has asked for signatures: a set that comes with its own passes whole.
    /// - Returns: nil when a record is malformed, which spoils its whole RRset (RFC 9460 section 2.2), or when none is left:
    ///   one that demands a hint (`mandatory`) is of no use without.
    func withoutHints(_ type: RecordType, keepsSigned: Bool) -> Answer? {
        var left = self
        left.answers = []
        var (found, used) = (0, 0)
        for record in answers {
            guard record.type == type else {
                left.answers.append(record)
                continue
            }
            guard let binding = ServiceBinding(rdata: record.rdata) else { return nil }
            found += 1
            guard let bare = binding.withoutHints else { continue }
            used += 1
            var changed = record
            changed.rdata = bare.rdata
            left.answers.append(changed)
        }
        if keepsSigned, answers.contains(where: { $0.coveredType == type }) { return self }
        guard found == 0 || used > 0 else { return nil }
        // A signature over what was changed is of no use.
        if left.answers != answers { left.answers.removeAll { $0.coveredType == type } }
        return left
    }
}

extension RecordType {
    /// Whether its records describe how to reach a service, with address hints (RFC 9460).
    var isServiceBinding: Bool { self == .https || self == .svcb }
}
