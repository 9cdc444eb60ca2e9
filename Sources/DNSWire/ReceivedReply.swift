/// What the reply of an upstream says to the question that it was asked.
///
/// The one place where records of others become an `Answer`. An answer holds what follows from the question and nothing
/// else: the chain of CNAME and DNAME records that begins at QNAME, the RRset at its end, and for a negative answer the
/// SOA record of a zone that the end lies in. Signatures and denial proofs stay with what they belong to (RFC 4035
/// section 3.1). NS records and the whole additional section go: a stub has no use for them, and addresses in them
/// would come in unasked.
package enum ReceivedReply: Hashable, Sendable {
    /// NOERROR or NXDOMAIN, with the records that belong to the question.
    case answer(Answer)
    /// Any other RCODE: the upstream did not find out. SERVFAIL also for a chain of aliases that does not end.
    case failure(ResponseCode)
    /// The TC bit is set: the rest has to be asked for by another transport.
    case truncated
    /// Not a reply, or not one to this question.
    case mismatch

    /// The most CNAME and DNAME records that are followed from QNAME.
    package static let maximumAliases = 16

    /// Judges `message`; its ID is the caller's to check.
    ///
    /// - Parameter question: as it was sent. Letter case does not count: whoever asks in a random one compares it before.
    package init(_ message: Message, to question: Question) {
        let code = message.responseCode
        let isAnswer = code == .noError || code == .nameError
        guard message.flags.contains(.response), message.flags.opcode == 0 else {
            self = .mismatch
            return
        }
        // A server that could not read the query may send back a bare header.
        if message.questions.isEmpty, !isAnswer {
            self = .failure(code)
            return
        }
        guard message.questions == [question] else {
            self = .mismatch
            return
        }
        guard isAnswer else {
            self = .failure(code)
            return
        }
        guard !message.flags.contains(.truncated) else {
            self = .truncated
            return
        }
        var chain = AliasChain(of: message.answers, for: question)
        guard chain.follow() else {
            self = .failure(.serverFailure)
            return
        }
        if code == .noError { chain.appendFinalRecords() }
        var answer = Answer(responseCode: code, answers: chain.records)
        let zoneNames = [chain.end, question.name]
        answer.authorities = Self.authorities(
            message.authorities.filter { $0.class == question.class },
            isNegative: answer.isNegative(for: question.type)
        ) { zone in zoneNames.contains { $0.isWithin(zone) } }
        self = .answer(answer)
    }

    /// The SOA record of a negative answer, and the records that prove a denial.
    ///
    /// The SOA record's TTL becomes that of the negative answer: at most its MINIMUM (RFC 2308 section 5).
    private static func authorities(
        _ records: [Record], isNegative: Bool, isZone: (Name) -> Bool
    ) -> [Record] {
        var hasSOA = false
        return records.compactMap { record in
            switch record.type {
            case .soa:
                guard isNegative, !hasSOA, isZone(record.name), let minimum = record.soaMinimum else { return nil }
                hasSOA = true
                var soa = record
                soa.ttl = min(soa.ttl, minimum)
                return soa
            case .nsec, .nsec3:
                return record
            case .rrsig:
                let covered = record.coveredType
                let isKept =
                    covered == .nsec || covered == .nsec3 || isNegative && covered == .soa && isZone(record.name)
                return isKept ? record : nil
            default:
                return nil
            }
        }
    }
}
