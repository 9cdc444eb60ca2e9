// Any bytes: the parser reads or refuses them, what it reads is unchanged after being written and read again, and the
// reader of the UDP threads finds the same query in them.

@testable import DNSWire

func fuzzMessageParser(_ bytes: [UInt8]) {
    let query = Query.read(bytes.span)
    let message: Message
    do {
        message = try MessageParser.parse(bytes)
    } catch {
        precondition((0...bytes.count).contains(error.offset), "an error outside the message")
        return
    }
    checkRoundTrip(message)
    checkQuery(query, in: bytes, against: message)
    checkReply(message)
    for question in message.questions { checkText(question.name) }
    for record in message.answers { checkText(record.name) }
}

private func checkRoundTrip(_ message: Message) {
    let encoded = message.encoded
    guard let again = try? MessageParser.parse(encoded) else { preconditionFailure("what was written is refused") }
    precondition(folded(again) == folded(message), "what was written reads otherwise")
    precondition(folded(again).encoded.count == encoded.count, "written again, it has another length")
}

/// The message with all rdata in lower case: a name in it that is written as a pointer takes the letter case of the
/// name that it points to.
private func folded(_ message: Message) -> Message {
    func fold(_ records: [Record]) -> [Record] {
        records.map { record in
            var record = record
            record.rdata = record.rdata.map(asciiLowercased)
            return record
        }
    }
    var message = message
    message.answers = fold(message.answers)
    message.authorities = fold(message.authorities)
    message.additionals = fold(message.additionals)
    return message
}

private func checkQuery(_ query: Query?, in bytes: [UInt8], against message: Message) {
    guard let query else {
        precondition(message.flags.contains(.response), "a query was dropped")
        return
    }
    precondition(query.id == message.id && query.flags == message.flags, "another header")
    precondition((query.fault == .notImplemented) == (message.flags.opcode != 0), "another opcode")
    guard message.flags.opcode == 0 else { return }
    guard message.questions.count == 1 else {
        let asksForCookie = message.questions.isEmpty && query.fault == .badCookie
        precondition(query.fault == .formatError || asksForCookie, "a query without its one question was taken")
        return
    }
    precondition(query.nameLength == message.questions[0].name.wire.count, "a name of another length")
    guard query.fault != .formatError else {
        // The only part that the parser does not check.
        let cookies = message.edns?.options.filter { $0.code == .cookie } ?? []
        precondition(
            cookies.contains { $0.data.count != 8 && !(16...40).contains($0.data.count) },
            "a well-formed query was refused")
        return
    }
    precondition((query.fault == .badVersion) == (message.edns?.version ?? 0 != 0), "another version of EDNS")
    precondition(query.hasEDNS == (message.edns != nil), "an OPT record was overlooked")
    precondition(query.dnssecOK == (message.edns?.dnssecOK ?? false), "another DO bit")
    guard query.fault == .noError else { return }
    let expected = QueryKey(
        message.questions[0], dnssecOK: query.dnssecOK, checkingDisabled: message.flags.contains(.checkingDisabled))
    precondition(QueryKey(query, in: bytes.span).array == expected.array, "another key")
}

private func checkReply(_ message: Message) {
    guard let question = message.questions.first else { return }
    guard case .answer(let answer) = ReceivedReply(message, to: question, dnssecOK: true) else { return }
    precondition(answer.additionals.isEmpty && answer.responseCode.rawValue & ~3 == 0, "an answer with too much in it")
    precondition((answer.answers + answer.authorities).allSatisfy { $0.class == question.class }, "another class")
}

private func checkText(_ name: Name) {
    precondition((try? Name(name.description))?.wire == name.wire, "a name that its text does not mean")
    precondition((try? Name(wire: name.wire)) != nil, "a name that is none")
}
