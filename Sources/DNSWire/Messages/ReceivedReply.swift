/// What the reply of an upstream says to the question that it was asked.
///
/// The one place where records of others become an `Answer`. An answer holds what follows from the question and nothing
/// else: the chain of CNAME and DNAME records that begins at QNAME, the RRset at its end, and for a negative answer the
/// SOA record of a zone that the end lies in. Signatures and denial proofs stay with what they belong to, if they were asked
/// for by the DO bit or by their type (RFC 4035 section 3.2.1). NS records and the whole additional section go: a stub has
/// no use for them, and addresses in them would come in unasked.
package enum ReceivedReply: Hashable, Sendable {
    /// NOERROR or NXDOMAIN, with the records that belong to the question.
    case answer(Answer)
    /// Any other RCODE: the upstream did not find out.
    case failure(ResponseCode)
    /// Aliases in a circle, more of them than are followed, or one that makes the name too long.
    case endlessAliases
    /// The TC bit is set: the rest has to be asked for by another transport.
    case truncated
    /// Not a reply, or not one to this question.
    case mismatch

    /// The most CNAME and DNAME records that are followed from QNAME.
    package static let maximumAliases = 16

    /// Judges `message`; its ID is the caller's to check.
    ///
    /// - Parameters:
    ///   - question: as it was sent. Letter case does not count: a random one is compared before.
    ///   - dnssecOK: whether signatures and denial proofs were asked for.
    package init(_ message: Message, to question: Question, dnssecOK: Bool) {
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
        var chain = AliasChain(of: message.answers, for: question, dnssecOK: dnssecOK)
        guard chain.follow() else {
            self = .endlessAliases
            return
        }
        if code == .noError { chain.appendFinalRecords() }
        var answer = Answer(responseCode: code, answers: chain.records)
        let zoneNames = [chain.end, question.name]
        answer.authorities = Self.authorities(
            message.authorities.filter { $0.class == question.class },
            isNegative: answer.isNegative(for: question.type), dnssecOK: dnssecOK
        ) { zone in zoneNames.contains { $0.isWithin(zone) } }
        self = .answer(answer)
    }

    /// The SOA record of a negative answer, and the records that prove a denial.
    ///
    /// The SOA record's TTL becomes that of the negative answer: at most its MINIMUM (RFC 2308 section 5).
    private static func authorities(
        _ records: [Record], isNegative: Bool, dnssecOK: Bool, isZone: (Name) -> Bool
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
                return dnssecOK ? record : nil
            case .rrsig:
                let covered = record.coveredType
                let isKept =
                    covered == .nsec || covered == .nsec3 || isNegative && covered == .soa && isZone(record.name)
                return dnssecOK && isKept ? record : nil
            default:
                return nil
            }
        }
    }
}
