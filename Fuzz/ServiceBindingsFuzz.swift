// Any message as a provider's answer with HTTPS records: every hint that a client may receive is an address that the
// resolver answers, only hints and the records that need them change, and the result is a valid message.

import DNSCache
import DNSWire
@testable import DNSResolver

func fuzzServiceBindings(_ bytes: [UInt8]) {
    guard let message = try? MessageParser.parse(bytes), let question = message.questions.first,
        question.type.isServiceBinding, message.questions.count == 1,
        case .answer(let answer) = ReceivedReply(message, to: question, dnssecOK: true),
        let bindings = ServiceBindings(answer, type: question.type)
    else { return }
    for known in [true, false] {
        var addresses: [ServiceBindings.Hint: ServiceBindings.Addresses] = [:]
        for hint in bindings.hints where known {
            precondition(hint.target == hint.target.lowercased, "a target in another letter case")
            addresses[hint] = ServiceBindings.Addresses(list: [ours(hint.type)], ttl: 7)
        }
        guard let fitted = bindings.rewritten(with: addresses) else { continue }
        precondition(fitted.answer.answers.count <= answer.answers.count, "records come from nowhere")
        precondition(fitted.longest == 7 || fitted.longest == .max, "another time")
        for record in fitted.answer.answers where record.type == question.type {
            check(record, question.type, mayHaveHints: known)
        }
        if let packed = PackedAnswer(fitted.answer, for: question) {
            precondition(packed.holds(question.type) || !fitted.answer.answers.contains { $0.type == question.type })
        }
    }
}

private func ours(_ type: RecordType) -> IPAddress { type == .a ? .v4(0xc000_0201) : .v6(1) }

private func check(_ record: Record, _ type: RecordType, mayHaveHints: Bool) {
    guard let binding = ServiceBinding(rdata: record.rdata) else { preconditionFailure("a record that cannot be read") }
    for type in binding.hintedTypes where !binding.isAlias {
        precondition(mayHaveHints, "a hint of another's")
        precondition(binding.replacingHints(of: type, with: [ours(type)]) == binding, "a hint that is not ours")
    }
}
