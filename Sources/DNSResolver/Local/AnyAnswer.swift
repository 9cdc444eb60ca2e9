import DNSCache
import DNSWire

extension Response {
    /// The response to a question for type ANY: the records that A and AAAA get (RFC 8482 section 4.1). A failure where one of
    /// them failed and the other has none.
    static func any(_ name: Name, of a: Response, and aaaa: Response) -> Response {
        let question = Question(name: name, type: .any)
        let failure = a.isFailure ? a : aaaa
        let given = a.isFailure ? aaaa : a
        let answers = [a, aaaa].compactMap { $0.records(for: question) }
        var answer = Answer(answers: distinct(answers.flatMap(\.answers)))
        if answers.count == 2, answers.allSatisfy({ $0.responseCode == .nameError }) {
            (answer.responseCode, answer.authorities) = (.nameError, answers[0].authorities)
        } else if answer.answers.isEmpty {
            guard answers.count == 2 else { return failure }
            let ttl = answers.flatMap(\.authorities).map(\.ttl).min() ?? 0
            // RFC 8482 section 4.2 allows it for a name without addresses, which may have other records.
            answer.answers = [
                Record(name: name, type: .hinfo, ttl: ttl, rdata: [7] + Array("RFC8482".utf8) + [0])
            ]
        }
        guard let packed = PackedAnswer(answer, for: question) else { return failure }
        return Response(
            .answer(packed, age: 0), extendedError: given.extendedError, from: given.kind, source: given.source)
    }

    /// Each record once, whatever its TTL: A and AAAA follow the same CNAME records.
    private static func distinct(_ records: [Record]) -> [Record] {
        var seen: Set<Record> = []
        return records.filter { record in
            var key = record
            key.ttl = 0
            return seen.insert(key).inserted
        }
    }
}
