// Any message as a provider's answer with HTTPS records: no hint reaches a client but with its signature, no record comes
// from nowhere, and the result is a valid message.

import DNSCache
import DNSWire
@testable import DNSResolver

func fuzzServiceBindings(_ bytes: [UInt8]) {
    guard let message = try? MessageParser.parse(bytes), let question = message.questions.first,
        question.type.isServiceBinding, message.questions.count == 1,
        case .answer(let answer) = ReceivedReply(message, to: question, dnssecOK: true)
    else { return }
    for keepsSigned in [true, false] {
        guard let left = answer.withoutHints(question.type, keepsSigned: keepsSigned) else { continue }
        precondition(left.answers.count <= answer.answers.count, "records come from nowhere")
        if left.answers != answer.answers || !keepsSigned {
            for record in left.answers where record.type == question.type {
                let binding = ServiceBinding(rdata: record.rdata)
                precondition(
                    binding != nil && binding == binding?.withoutHints, "a hint, or a record that cannot be read")
            }
        }
        if let packed = PackedAnswer(left, for: question) {
            precondition(packed.holds(question.type) || !left.answers.contains { $0.type == question.type })
        }
    }
}
