import TestServers

/// A look-up of a name of the lab, with its verdict.
struct LabLookup: Sendable {
    /// The question.
    struct Question: Sendable {
        let name: LabName
        let type: UInt16
    }

    /// The verdict on what a client received.
    enum Verdict: Hashable {
        /// The address of the name, and nothing else; fresh or stale.
        case right
        /// The address to which the name has moved, and nothing else.
        case moved
        /// SERVFAIL with an extended error.
        case explainedFailure
        /// Any other address.
        case wrong
        /// No address, and no extended error either.
        case unexplained
        case unanswered
    }

    let question: Question
    let lookup: Lookup

    var verdict: Verdict {
        guard let reply = lookup.reply else { return .unanswered }
        if !reply.addresses.isEmpty {
            guard reply.rcode == ResponseCode.noError else { return .wrong }
            if reply.addresses == [question.name.address(question.type)] { return .right }
            return reply.addresses == [question.name.address(question.type, moved: true)] ? .moved : .wrong
        }
        return reply.rcode == ResponseCode.servFail && !reply.extendedErrors.isEmpty ? .explainedFailure : .unexplained
    }

    /// Asks all questions in one run.
    static func ask(
        _ questions: [Question], _ client: BulkClient, beforeEach: (Int) throws -> Void = { _ in }
    ) throws -> [LabLookup] {
        let lookups = try client.ask(questions.map { .init($0.name.text, $0.type) }, beforeEach: beforeEach)
        return zip(questions, lookups).map { LabLookup(question: $0, lookup: $1) }
    }
}

extension [LabLookup] {
    /// The number of look-ups with each verdict.
    var tally: [LabLookup.Verdict: Int] { reduce(into: [:]) { $0[$1.verdict, default: 0] += 1 } }

    /// Those with another verdict than these, with what came, as text.
    func others(than verdicts: LabLookup.Verdict...) -> [String] {
        filter { !verdicts.contains($0.verdict) }
            .map { "\($0.question): \($0.verdict), \(String(describing: $0.lookup.reply))" }
    }

    func count(_ verdict: LabLookup.Verdict) -> Int { count { $0.verdict == verdict } }
}
