import DNSWire

/// An authenticated answer with HTTPS or SVCB records of a protected name, made fit for a client.
///
/// Address hints reach browsers past A and AAAA. So each is replaced by the addresses that we would answer for the
/// target's A or AAAA, and left out where we have none or the target goes by another route. Everything else stays byte
/// for byte, `ech` included: the keys come from the same authenticated source.
struct ServiceBindings {
    /// More targets are not looked up for one answer; their hints go.
    static let targetLimit = 4

    private let answer: Answer
    private let type: RecordType
    /// The records of `type` by their place in the answer section.
    private let bindings: [(place: Int, binding: ServiceBinding)]

    /// - Returns: nil when a record is malformed: the whole set is refused then (RFC 9460 section 2.2).
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

    /// An address question whose answer is wanted for a hint.
    struct Hint: Hashable, Sendable {
        /// In lower case.
        var target: Name
        var type: RecordType
    }

    /// What we know for a hint.
    struct Addresses: Sendable {
        var list: [IPAddress]
        /// Seconds for which it holds.
        var ttl: UInt32
    }

    /// All hints of the set, those of the first targets first.
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

    /// Whether the set comes with its signature, and a change would break it.
    var isSigned: Bool { answer.answers.contains { $0.coveredType == type } }

    /// An answer that a client may see, and the seconds for which it may be kept at most: hints must not outlive the addresses
    /// that they are, whatever shorter TTLs are raised to.
    struct Fitted {
        var answer: Answer
        var longest = UInt32.max
    }

    /// The answer with our addresses as hints.
    ///
    /// - Parameter addresses: what is known for each hint.
    /// - Returns: nil when no record is left of a set that had some.
    func rewritten(with addresses: [Hint: Addresses]) -> Fitted? {
        var answer = answer
        var isChanged = false
        var left = bindings.count
        var ttl = UInt32.max
        var records: [Record?] = answer.answers
        for (place, binding) in bindings {
            var fit: ServiceBinding? = binding
            for type in binding.hintedTypes {
                // Whoever follows an alias takes no parameter of it (RFC 9460 section 2.4.2).
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
    /// Whether its records tell how to reach a service, with address hints (RFC 9460).
    var isServiceBinding: Bool { self == .https || self == .svcb }
}
