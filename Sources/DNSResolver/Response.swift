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

extension Answer {
    /// The same with the TTLs that a client gets.
    consuming func aged(_ aging: Reply.Aging) -> Answer {
        for index in answers.indices { answers[index].ttl = aging.ttl(answers[index].ttl) }
        for index in authorities.indices { authorities[index].ttl = aging.ttl(authorities[index].ttl) }
        return self
    }
}

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
    static func respond(to client: ClientQuestion, by resolver: Resolver, reply: @escaping @Loop (Response) -> Void) {
        guard client.question.type == .any else {
            return resolver.respond(to: client.asking(for: client.question.type), reply: reply)
        }
        let answer = AnyAnswer(to: client.question, reply: reply)
        for type in [RecordType.a, .aaaa] {
            resolver.respond(to: client.asking(for: type)) { answer.receive($0, for: type) }
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
