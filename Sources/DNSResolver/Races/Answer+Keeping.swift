package import DNSWire

extension Answer {
    /// The same answer with those of its addresses for which `isWanted` is true; the signatures of an RRset that
    /// shrinks are removed too.
    package func keeping(_ isWanted: (IPAddress) -> Bool) -> Answer {
        var rest = self
        rest.answers.removeAll { record in record.address.map { !isWanted($0) } ?? false }
        guard rest.answers.count < answers.count else { return self }
        rest.answers.removeAll { $0.coveredType?.isAddress == true }
        return rest
    }
}
