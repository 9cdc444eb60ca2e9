import DNSCache
import DNSWire
import Scheduling

/// The response to a question for type ANY: the records that A and AAAA get (RFC 8482 section 4.1).
@Loop
final class AnyAnswer {
    private let question: Question
    private let reply: @Loop (Response) -> Void
    private var received: [RecordType: Response] = [:]

    private init(to question: Question, reply: @escaping @Loop (Response) -> Void) {
        self.question = Question(name: question.name, type: .any)
        self.reply = reply
    }

    /// Answers a question for type ANY, and one of class ANY as one of class IN.
    ///
    /// - Parameter ask: calls back with the response to another question of the client.
    static func respond(
        to client: ClientQuestion, asking ask: @Loop (ClientQuestion, @escaping @Loop (Response) -> Void) -> Void,
        reply: @escaping @Loop (Response) -> Void
    ) {
        guard client.question.type == .any else { return ask(client.asking(for: client.question.type), reply) }
        let answer = AnyAnswer(to: client.question, reply: reply)
        for type in [RecordType.a, .aaaa] {
            ask(client.asking(for: type)) { answer.receive($0, for: type) }
        }
    }

    private func receive(_ response: Response, for type: RecordType) {
        received[type] = response
        guard let a = received[.a], let aaaa = received[.aaaa] else { return }
        reply(merged([a, aaaa]) ?? (a.isFailure ? a : aaaa))
    }

    /// The merged answer when at most one response is a failure; nil when there is none.
    private func merged(_ responses: [Response]) -> Response? {
        let answers = responses.compactMap { $0.records(for: question) }
        var answer = Answer(answers: Self.distinct(answers.flatMap(\.answers)))
        if answers.count == responses.count, answers.allSatisfy({ $0.responseCode == .nameError }) {
            (answer.responseCode, answer.authorities) = (.nameError, answers[0].authorities)
        } else if answer.answers.isEmpty {
            guard answers.count == responses.count else { return nil }
            answer.answers = [existing(for: answers.flatMap(\.authorities).map(\.ttl).min() ?? 0)]
        }
        let given = responses.first { !$0.isFailure }
        return PackedAnswer(answer, for: question).map {
            Response(
                .answer($0, age: 0), extendedError: given?.extendedError, from: given?.kind ?? .rule,
                source: given?.source)
        }
    }

    /// The HINFO record that RFC 8482 section 4.2 allows, for a name without addresses: it may have other records.
    ///
    /// - Parameter ttl: in seconds.
    private func existing(for ttl: UInt32) -> Record {
        Record(name: question.name, type: .hinfo, ttl: ttl, rdata: [7] + Array("RFC8482".utf8) + [0])
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

extension Question {
    /// Whether it asks for type ANY of class IN, or for class ANY.
    var isForAny: Bool { self.class == .any || type == .any && self.class == .internet }
}
