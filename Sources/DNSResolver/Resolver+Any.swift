import DNSCache
import DNSWire
import Scheduling

// Queries with QTYPE ANY or QCLASS ANY.

extension Resolver {
    /// Answers a question for type ANY with the records that A and AAAA get (RFC 8482 section 4.1), and one of class
    /// ANY as one of class IN.
    func respondToAny(_ client: ClientQuestion, reply: @escaping @Loop (Response) -> Void) {
        guard client.question.type == .any else {
            return respond(to: client.asking(for: client.question.type), reply: reply)
        }
        let families = BothFamilies(of: client.question, reply: reply)
        respond(to: client.asking(for: .a)) { families.receivedA($0) }
        respond(to: client.asking(for: .aaaa)) { families.receivedAAAA($0) }
    }
}

extension Question {
    /// Whether it asks for type ANY of class IN, or for class ANY.
    var isForAny: Bool { self.class == .any || type == .any && self.class == .internet }
}

/// The responses for A and for AAAA, which are merged into one for ANY.
@Loop
private final class BothFamilies {
    private let question: Question
    private let reply: @Loop (Response) -> Void
    private var a: Response?
    private var aaaa: Response?

    init(of question: Question, reply: @escaping @Loop (Response) -> Void) {
        self.question = Question(name: question.name, type: .any)
        self.reply = reply
    }

    func receivedA(_ response: Response) {
        a = response
        replyIfComplete()
    }

    func receivedAAAA(_ response: Response) {
        aaaa = response
        replyIfComplete()
    }

    private func replyIfComplete() {
        guard let a, let aaaa else { return }
        reply(merged([a, aaaa]) ?? (a.isFailure ? a : aaaa))
    }

    /// The merged answer when at most one response is a failure; nil when there is none.
    private func merged(_ responses: [Response]) -> Response? {
        let answers = responses.compactMap { $0.records(for: question) }
        let records = Self.distinct(answers.flatMap(\.answers))
        let isDenied = answers.count == responses.count && answers.allSatisfy { $0.responseCode == .nameError }
        let answer: Answer
        if isDenied {
            answer = Answer(responseCode: .nameError, answers: records, authorities: answers[0].authorities)
        } else if !records.isEmpty {
            answer = Answer(answers: records)
        } else if answers.count == responses.count {
            answer = existing(for: answers.flatMap(\.authorities).map(\.ttl).min() ?? 0)
        } else {
            return nil
        }
        let given = responses.first { !$0.isFailure }
        return PackedAnswer(answer, for: question).map {
            Response(.answer($0, age: 0), extendedError: given?.extendedError, from: given?.origin ?? .ourselves)
        }
    }

    /// The HINFO record that RFC 8482 section 4.2 allows, for a name without addresses: it may have other records.
    ///
    /// - Parameter ttl: in seconds.
    private func existing(for ttl: UInt32) -> Answer {
        Answer(answers: [
            Record(name: question.name, type: .hinfo, ttl: ttl, rdata: [7] + Array("RFC8482".utf8) + [0])
        ])
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

extension Response {
    fileprivate var isFailure: Bool { if case .failure = content { true } else { false } }

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
