package import DNSCache
package import DNSWire
import Scheduling

/// The content of a response to a client.
package struct Response: Sendable {
    package enum Content: Sendable {
        /// A positive or negative answer; its TTLs are sent less `age` seconds.
        case answer(PackedAnswer, age: UInt32)
        /// An answer past its TTL; its TTLs are sent as 30 seconds.
        case stale(PackedAnswer)
        /// A response without records: SERVFAIL, REFUSED, NOTIMP or another RCODE.
        case failure(ResponseCode)
    }

    package let content: Content
    /// Where the answer came from; by this it is counted.
    package private(set) var kind: AnswerKind
    /// The number, among `SourceTags`, of the source of the policy that was asked for it, or made it; nil: there is none, or it
    /// was cached.
    package let source: UInt16?
    /// Why the answer is degraded or missing; sent only to clients whose query had an OPT record (RFC 8914).
    package var extendedError: ExtendedError?

    /// The RCODE of the response.
    package var responseCode: ResponseCode {
        switch content {
        case .answer(let answer, _), .stale(let answer): answer.responseCode
        case .failure(let code): code
        }
    }

    /// The same as an answer that the archive had.
    var recalled: Response {
        var response = self
        if kind == .cache { response.kind = .disk }
        return response
    }

    /// - Parameter kind: of an answer that is not stale. Default: it was synthesized by this server.
    package init(
        _ content: Content, extendedError: ExtendedError? = nil, from kind: AnswerKind = .rule, source: UInt16? = nil
    ) {
        self.content = content
        self.extendedError = extendedError
        self.source = source
        self.kind =
            switch content {
            case .failure(.serverFailure): .failure
            case .failure: .rule
            case .stale: .stale
            case .answer: kind
            }
    }
}

extension Response {
    var isFailure: Bool { if case .failure = content { true } else { false } }

    /// Its records with the TTLs that are sent to a client; nil for a failure.
    func records(for question: Question) -> Answer? {
        switch content {
        case .answer(let answer, let age): answer.unpacked(for: question)?.aged(.fresh(age: age))
        case .stale(let answer): answer.unpacked(for: question)?.aged(.stale)
        case .failure: nil
        }
    }
}

extension Response {
    /// What the client gets.
    func traceText(for question: Question) -> String {
        let records = records(for: question)?.traceText(question.type) ?? ""
        let isAlone = records.isEmpty || records == "\(responseCode)"
        let text = isAlone ? "\(responseCode)" : "\(responseCode), \(records)"
        return extendedError.map { "\(text) (\($0.text))" } ?? text
    }
}

extension Answer {
    /// The same with the TTLs that a client gets.
    consuming func aged(_ aging: Reply.Aging) -> Answer {
        for index in answers.indices { answers[index].ttl = aging.ttl(answers[index].ttl) }
        for index in authorities.indices { authorities[index].ttl = aging.ttl(authorities[index].ttl) }
        return self
    }
}

extension Answer {
    /// The same answer with those of its addresses for which `isWanted` is true; the signatures of an RRset that
    /// shrinks are removed too.
    func keeping(_ isWanted: (IPAddress) -> Bool) -> Answer {
        var rest = self
        rest.answers.removeAll { record in record.address.map { !isWanted($0) } ?? false }
        guard rest.answers.count < answers.count else { return self }
        rest.answers.removeAll { $0.coveredType?.isAddress == true }
        return rest
    }
}

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
