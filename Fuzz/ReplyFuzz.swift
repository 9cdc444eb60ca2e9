// A client's message of any bytes, and a response to it: a refusal, or any bytes as records. The message, the records and
// the response's buffer each lie between pages that must not be accessed, adjacent to either of them. What is written is a response to that message, no longer than allowed.

import DNSWire

@testable import DNSCache

private let messageMemory = GuardedBytes(4_096)
private let bodyMemory = GuardedBytes(4_096)
private let replyMemory = GuardedBytes(65_536)

func fuzzReply(_ input: [UInt8]) {
    guard input.count <= 4_096 else { return }
    var script = Script(input)
    let places = script.number()
    let kind = script.number()
    // A few bytes more or less than a response needs, or any number.
    let limit = script.number() << 4 | script.number() & 15
    let capacity = places & 0x10 == 0 ? limit : script.number() << 4
    let records = script.bytes(script.number())
    let bytes = script.bytes(input.count)
    guard let query = Query.read(bytes.span) else { return }

    let message = messageMemory.copy(bytes, atEnd: places & 1 != 0)
    let body = bodyMemory.copy(records, atEnd: places & 2 != 0)
    var output = OutputSpan(buffer: replyMemory.bytes(capacity, atEnd: places & 8 != 0), initializedCount: 0)
    let span = unsafe Span(_unsafeElements: message)
    let isWritten: Bool
    if kind & 1 == 0 {
        let error = kind & 2 == 0 ? nil : ExtendedError(.other, String(repeating: "e", count: kind))
        isWritten = Reply.write(
            ResponseCode(rawValue: UInt16(kind >> 2)), to: query, message: span,
            options: Reply.Options(error: error, keepalive: kind & 4 == 0 ? nil : 100), limit: limit, into: &output)
    } else {
        // Correct and wrong counts.
        let answers = UInt16(kind & 8 == 0 ? kind >> 6 : kind)
        let aging = kind & 16 == 0 ? Reply.Aging.stale : .fresh(age: UInt32(kind))
        isWritten = unsafe Reply.write(
            0, counts: PackedAnswer.SectionCounts(answer: answers), body: Span(_unsafeElements: body),
            echo: Reply.Echo(query), message: span, aging: aging, options: Span(), limit: limit, into: &output)
        if kind & 32 != 0 {
            unsafe output.rotateAddresses(of: Span(_unsafeElements: body), answers: Int(answers), aging: aging)
        }
    }
    check(output.count, isWritten, min(limit, capacity))
    if isWritten { check(output.span, query, bytes) }
}

private func check(_ count: Int, _ isWritten: Bool, _ room: Int) {
    precondition(isWritten == (count > 0), "says that it wrote and did not, or the other way round")
    precondition(count <= room, "a reply over its limit")
}

private func check(_ reply: Span<UInt8>, _ query: Query, _ message: [UInt8]) {
    precondition(reply.count >= 12 + query.questionLength, "a reply without its question")
    precondition(reply[0] == message[0] && reply[1] == message[1], "another ID")
    precondition(reply[2] & 0x80 != 0, "no response")
    for index in 12..<(12 + query.questionLength) {
        precondition(reply[index] == message[index], "another question")
    }
}
