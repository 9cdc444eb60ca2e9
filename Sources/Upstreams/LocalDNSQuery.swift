import DNSWire

/// One query as sent to one server, and the test of what comes back.
///
/// What a forger off the path would have to guess: the source port, which the kernel picks for each channel, the random
/// ID, and the random letter case of the name (RFC 5452 section 4; "0x20").
struct LocalDNSQuery {
    /// The question as the asker knows it.
    let question: Question
    /// Header, question and OPT record.
    let bytes: [UInt8]
    /// Where the question ends in `bytes`.
    private let questionEnd: Int

    /// - Parameter edns: whether to offer EDNS; the DO bit is not sent without.
    init(
        _ question: Question, dnssecOK: Bool, checkingDisabled: Bool, edns: Bool,
        using generator: inout some RandomNumberGenerator
    ) {
        self.question = question
        var flags: HeaderFlags = .recursionDesired
        if checkingDisabled { flags.insert(.checkingDisabled) }
        var builder = MessageBuilder(id: .random(in: .min ... .max, using: &generator), flags: flags)
        let disguised = Self.disguise(question.name, using: &generator)
        builder.append(Question(name: disguised, type: question.type, class: question.class))
        questionEnd = builder.bytes.count
        // Without options: c-ares takes the last 11 bytes for the OPT record when it repeats a query without EDNS.
        if edns { builder.append(EDNS(dnssecOK: dnssecOK)) }
        bytes = builder.bytes
    }

    /// The name with each letter in upper or lower case at random.
    private static func disguise(_ name: Name, using generator: inout some RandomNumberGenerator) -> Name {
        // Lengths of labels are at most 63 and never look like a letter.
        let wire = name.wire.map { byte in
            let lower = asciiLowercased(byte)
            return (0x61...0x7a).contains(lower) && Bool.random(using: &generator) ? lower & ~0x20 : lower
        }
        return (try? Name(wire: wire)) ?? name
    }

    /// Reads a reply.
    ///
    /// Names that point into the question come out as the asker wrote them, not in the letter case that was sent.
    /// - Throws: why the reply is not one to this query, or cannot be used.
    func read(_ reply: [UInt8]) throws(LocalDNSReplyError) -> Message {
        guard reply.count >= questionEnd else { throw .truncated }
        guard reply[0..<2] == bytes[0..<2] else { throw .wrongID }
        let flags = HeaderFlags(rawValue: UInt16(reply[2]) << 8 | UInt16(reply[3]))
        guard flags.contains(.response), flags.opcode == 0 else { throw .notAReply }
        // The question stands at byte 12 of both, and its name cannot be compressed there: all its bytes must be the same.
        guard reply[4] == 0, reply[5] == 1, reply[Header.length..<questionEnd] == bytes[Header.length..<questionEnd]
        else {
            throw .wrongQuestion
        }
        guard !flags.contains(.truncated) else { throw .truncated }
        var plain = reply
        plain.replaceSubrange(Header.length..<(Header.length + question.name.wire.count), with: question.name.wire)
        do throws(MessageParseError) {
            return try MessageParser.parse(plain)
        } catch {
            throw .malformed(error)
        }
    }
}

/// Why a reply is not taken.
enum LocalDNSReplyError: Error, Hashable, Sendable {
    case wrongID
    case notAReply
    /// Another question, or the same in another letter case.
    case wrongQuestion
    /// It ends early, or still has TC set over TCP.
    case truncated
    case malformed(MessageParseError)
}

extension LocalDNSReplyError: CustomStringConvertible {
    var description: String {
        switch self {
        case .wrongID: "the reply has another ID"
        case .notAReply: "not a reply to a query"
        case .wrongQuestion: "the reply's question is not the one asked, letter case included"
        case .truncated: "the reply is truncated"
        case .malformed(let error): "the reply cannot be read: \(error)"
        }
    }
}
