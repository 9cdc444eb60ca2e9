// Any bytes as a value in Redis, and as what is in a sealed one: a value that was not sealed with the key is never an
// answer; what is read of the contents is the same when it is written and read again, and its age makes no TTL longer.

import DNSResolver
import DNSWire

@testable import Upstreams

private func question() -> SharedQuestion? {
    guard let name = try? Name("www.example.com") else { return nil }
    let key = FlightKey(
        name: name, type: .a, route: .protect(explicit: true), dnssecOK: false, checkingDisabled: false)
    return SharedQuestion(key, [.a, .aaaa], policy: [UInt8](repeating: 7, count: 16))
}

func fuzzSealedAnswer(_ input: [UInt8]) {
    guard let question = question(),
        let place = SharedKeys(secret: [UInt8](repeating: 1, count: 32))?.place(of: question)
    else { return }
    precondition(SealedAnswer.opened(input, for: question, at: place) == nil, "a value is accepted that was not sealed")
    if let answers = SealedAnswer.answers(in: input, for: question) {
        let again = SealedAnswer.answers(in: SealedAnswer.contents(answers, for: question.name), for: question)
        precondition(again == answers, "written and read again they are other answers")
    }
    guard let answer = SealedAnswer(contents: input, for: question.name) else { return }
    let again = SealedAnswer(contents: answer.contents(for: question.name), for: question.name)
    precondition(again == answer, "written and read again it is another answer")
    for now in [Int64.min, -1, 0, 1_800_000_000, .max, answer.received, answer.received &+ 60] {
        guard let shared = answer.shared(at: now) else { continue }
        precondition(shared.remaining <= answer.lifetime, "it is fresher than it was")
        let pairs = zip(shared.answer.answers, answer.answer.answers)
        precondition(pairs.allSatisfy { $0.ttl <= $1.ttl }, "a TTL is longer than it was")
    }
}
