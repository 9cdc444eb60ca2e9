import DNSResolver
import DNSServer
import DNSWire
import TestSupport
import Testing

/// A resolver whose answers the test determines, and which counts questions.
@Loop
final class FakeResponder: QueryResponder {
    /// All questions, in order.
    private(set) var questions: [ClientQuestion] = []
    /// Answers each question at once; nil holds it until `release`.
    private let answer: @Loop (ClientQuestion) -> Response?
    private var held: [(question: ClientQuestion, reply: @Loop (Response) -> Void)] = []

    private var isHolding = true
    var isBacklogged = false
    var isNearBrake = false

    func isNearBrake(_ question: Question, of network: ClientNetwork) -> Bool { isNearBrake }

    /// Without `answer`, every question is held.
    nonisolated init(_ answer: @escaping @Loop (ClientQuestion) -> Response? = { _ in nil }) { self.answer = answer }

    /// Answers every name with one address.
    nonisolated static func address(_ address: String = "192.0.2.1") -> FakeResponder {
        FakeResponder { .address(address, for: $0.question) }
    }

    func respond(to question: ClientQuestion, reply: @escaping @Loop (Response) -> Void) {
        questions.append(question)
        if let response = answer(question) { return reply(response) }
        guard isHolding else { return reply(.address("192.0.2.1", for: question.question)) }
        held.append((question, reply))
    }

    /// Returns once `count` questions in all have arrived.
    func asked(_ count: Int) async {
        await awaited { questions.count >= count }
    }

    /// Answers the held questions for this name, or all of them, with one address.
    func release(_ name: String? = nil, address: String = "192.0.2.1") {
        let due = held.filter { name == nil || "\($0.question.question.name)" == name }
        held.removeAll { name == nil || "\($0.question.question.name)" == name }
        for each in due { each.reply(.address(address, for: each.question.question)) }
    }

    /// Answers all held questions with SERVFAIL.
    func fail() {
        let due = held
        held.removeAll()
        for each in due { each.reply(Response(.failure(.serverFailure))) }
    }

    /// Answers all held questions, and holds no more from now on.
    func releaseForEver() {
        isHolding = false
        release()
    }
}
