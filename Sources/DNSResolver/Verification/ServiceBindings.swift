import DNSWire

/// An authenticated answer with HTTPS or SVCB records of a protected name, rewritten for a client.
///
/// Address hints reach browsers without A and AAAA queries. So each is replaced by the addresses that this resolver
/// would answer for the target's A or AAAA, and left out where it has none or the target takes another route.
/// Everything else stays byte for byte, `ech` included: the keys come from the same authenticated source.
struct ServiceBindings {
    /// The most targets that are looked up for one answer; the hints of further ones are removed.
    static let targetLimit = 4

    private let answer: Answer
    private let type: RecordType
    /// The records of `type` by their index in the answer section.
    private let bindings: [(place: Int, binding: ServiceBinding)]

    /// - Returns: nil when a record is malformed: the whole RRset is refused then (RFC 9460 section 2.2).
    init?(_ answer: Answer, type: RecordType) {
        self.answer = answer
        self.type = type
        var bindings: [(place: Int, binding: ServiceBinding)] = []
        for (place, record) in answer.answers.enumerated() where record.type == type {
            guard let binding = ServiceBinding(rdata: record.rdata) else { return nil }
            bindings.append((place, binding))
        }
        self.bindings = bindings
    }

    /// An address question whose answer replaces a hint.
    struct Hint: Hashable, Sendable {
        /// In lower case.
        var target: Name
        var type: RecordType
    }

    /// The known addresses for a hint.
    struct Addresses: Sendable {
        var list: [IPAddress]
        /// Seconds for which it holds.
        var ttl: UInt32
    }

    /// All hints of the RRset, those of the first targets first.
    var hints: [Hint] {
        var hints: [Hint] = []
        for (place, binding) in bindings where !binding.isAlias {
            for type in binding.hintedTypes {
                let hint = Hint(target: target(of: binding, at: place), type: type)
                if !hints.contains(hint) { hints.append(hint) }
            }
        }
        return hints
    }

    private func target(of binding: ServiceBinding, at place: Int) -> Name {
        (binding.target.isRoot ? answer.answers[place].name : binding.target).lowercased
    }

    /// Whether the RRset comes with its signature, which a change would invalidate.
    var isSigned: Bool { answer.answers.contains { $0.coveredType == type } }

    /// An answer for a client, and the most seconds for which it may be cached: hints must not outlive the addresses
    /// that they stand for, whatever shorter TTLs are raised to.
    struct Fitted {
        var answer: Answer
        var longest = UInt32.max
    }

    /// The answer with addresses of this resolver as hints.
    ///
    /// - Parameter addresses: the known addresses for each hint.
    /// - Returns: nil when no record is left of an RRset that had some.
    func rewritten(with addresses: [Hint: Addresses]) -> Fitted? {
        var answer = answer
        var isChanged = false
        var left = bindings.count
        var ttl = UInt32.max
        var records: [Record?] = answer.answers
        for (place, binding) in bindings {
            var fit: ServiceBinding? = binding
            for type in binding.hintedTypes {
                // A client that follows an alias ignores its parameters (RFC 9460 section 2.4.2).
                let known = binding.isAlias ? nil : addresses[Hint(target: target(of: binding, at: place), type: type)]
                fit = fit?.replacingHints(of: type, with: known?.list ?? [])
                if let known { ttl = min(ttl, known.ttl) }
            }
            guard fit != binding else { continue }
            isChanged = true
            if let fit { records[place]?.rdata = fit.rdata } else { left -= 1 }
            if fit == nil { records[place] = nil }
        }
        guard bindings.isEmpty || left > 0 else { return nil }
        answer.answers = records.compactMap { record in
            guard let record, !isChanged || record.coveredType != type else { return nil }
            return record
        }
        return Fitted(answer: answer, longest: ttl)
    }
}

extension RecordType {
    /// Whether its records describe how to reach a service, with address hints (RFC 9460).
    var isServiceBinding: Bool { self == .https || self == .svcb }
}
