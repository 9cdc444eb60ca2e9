// Any bytes as a datagram or TCP message of a LocalDNS server. The first byte determines which of the query's own bytes
// they begin with. Only a message with the query's ID, QR and opcode is a response, and only with the query's question,
// bit for bit over UDP; and no byte outside the message is read.

import DNSWire
import Platform
@testable import Upstreams

func fuzzLocalDNSReply(_ input: [UInt8]) {
    guard let head = input.first, let name = try? Name("www.example.com") else { return }
    // Always the same letters and ID.
    var numbers = Numbers(0)
    let question = Question(name: name, type: head & 1 == 0 ? .a : .cname)
    let query = LocalDNSQuery(
        question, by: LocalDNSWay(transport: head & 2 == 0 ? .udp : .tcp, edns: head & 16 != 0),
        dnssecOK: head & 4 != 0, checkingDisabled: head & 8 != 0, random: { numbers.next() })
    let questionEnd = 12 + name.wire.count + 4
    var reply = Array(input.dropFirst())
    if head & 32 != 0, reply.count >= 2 { reply.replaceSubrange(0..<2, with: query.bytes[0..<2]) }
    if head & 64 != 0, reply.count >= 12 {
        (reply[4], reply[5]) = (0, 1)
        reply.insert(contentsOf: query.bytes[12..<questionEnd], at: 12)
    }
    check(reply, to: query, questionEnd, isOverUDP: head & 2 == 0)
}

private func check(_ reply: [UInt8], to query: LocalDNSQuery, _ questionEnd: Int, isOverUDP: Bool) {
    guard let said = query.reply(in: reply) else { return }
    precondition(reply.count >= 12 && reply[0..<2] == query.bytes[0..<2], "a response with another ID")
    precondition(reply[2] & 0xf8 == 0x80, "a response without QR, or of another opcode")
    let hasQuestion = reply[4] != 0 || reply[5] != 0
    if said != .otherLetterCase, hasQuestion, isOverUDP {
        precondition(reply[12..<questionEnd] == query.bytes[12..<questionEnd], "a response to another question")
    }
    if case .answer = said { precondition(hasQuestion, "an answer to no question") }
}
