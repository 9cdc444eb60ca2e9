import DNSWire

/// One query as sent to one server, and the test of what comes back.
///
/// What a forger off the path would have to guess: the source port, which the kernel picks for each channel, the random
/// ID, and over UDP the random letter case of the name (RFC 5452 section 4; "0x20"). A TCP connection cannot be forged off
/// the path, and some servers do not preserve letter case: there the name goes in lower case, and comes back in any.
struct LocalDNSQuery {
    /// What a datagram is.
    enum Datagram {
        /// A response to this query, perhaps one that cannot be read.
        case response
        /// It would be one, but for the letter case of its question: forged, or of a server that does not preserve it.
        case otherLetterCase
        /// Something else, which a forger may have sent; no sign of the server.
        case foreign
    }

    /// The question as the client knows it.
    let question: Question
    /// Header, question and OPT record.
    let bytes: [UInt8]
    /// Where the question ends in `bytes`.
    private let questionEnd: Int

    /// - Parameters:
    ///   - transport: over TCP the letter case is not random.
    ///   - edns: whether to offer EDNS; the DO bit is not sent without.
    init(
        _ question: Question, over transport: AresTransport, dnssecOK: Bool, checkingDisabled: Bool, edns: Bool,
        using generator: inout some RandomNumberGenerator
    ) {
        self.question = question
        var flags: HeaderFlags = .recursionDesired
        if checkingDisabled { flags.insert(.checkingDisabled) }
        var builder = MessageBuilder(id: .random(in: .min ... .max, using: &generator), flags: flags)
        let name =
            transport == .udp ? Self.disguise(question.name, using: &generator) : question.name.lowercased
        builder.append(Question(name: name, type: question.type, class: question.class))
        questionEnd = builder.bytes.count
        if edns { builder.append(EDNS(dnssecOK: dnssecOK)) }
        bytes = builder.bytes
    }

    /// The name with each letter in upper or lower case at random.
    private static func disguise(_ name: Name, using generator: inout some RandomNumberGenerator) -> Name {
        var (bits, left) = (UInt64(0), 0)
        // Lengths of labels are at most 63 and never look like a letter.
        let wire = name.wire.map { byte in
            let lower = asciiLowercased(byte)
            guard (0x61...0x7a).contains(lower) else { return lower }
            // A bit a letter: each number costs a system call.
            if left == 0 { (bits, left) = (generator.next(), UInt64.bitWidth) }
            defer { (bits, left) = (bits >> 1, left - 1) }
            return bits & 1 == 0 ? lower : lower & ~0x20
        }
        return (try? Name(wire: wire)) ?? name
    }

    /// Tells what a datagram is that came back.
    func kind(of datagram: [UInt8]) -> Datagram {
        guard isResponse(datagram) else { return .foreign }
        if isBareFailure(datagram) { return .response }
        guard hasQuestion(datagram) else { return .foreign }
        let question = Header.length..<questionEnd
        return datagram[question] == bytes[question] ? .response : .otherLetterCase
    }

    /// Reads a response.
    ///
    /// Names that point into the question come out as the client wrote them, not in the letter case that was sent. An error
    /// response may come without the question, from a server that could not read the query or did not want to.
    /// - Throws: why it is none to this query, or cannot be used.
    func read(_ reply: [UInt8]) throws(LocalDNSReplyError) -> Message {
        guard reply.count >= Header.length else { throw .truncated }
        guard reply[0..<2] == bytes[0..<2] else { throw .wrongID }
        guard isResponse(reply) else { throw .notAReply }
        var plain = reply
        if !isBareFailure(reply) {
            guard reply.count >= questionEnd else { throw .truncated }
            guard hasQuestion(reply) else { throw .wrongQuestion }
            guard !Self.flags(reply).contains(.truncated) else { throw .truncated }
            plain.replaceSubrange(Header.length..<(Header.length + question.name.wire.count), with: question.name.wire)
        }
        do throws(MessageParseError) {
            return try MessageParser.parse(plain)
        } catch {
            throw .malformed(error)
        }
    }

    private static func flags(_ reply: [UInt8]) -> HeaderFlags {
        HeaderFlags(rawValue: UInt16(reply[2]) << 8 | UInt16(reply[3]))
    }

    private func isResponse(_ reply: [UInt8]) -> Bool {
        guard reply.count >= Header.length, reply[0..<2] == bytes[0..<2] else { return false }
        let flags = Self.flags(reply)
        return flags.contains(.response) && flags.opcode == 0
    }

    /// Whether it has no question, and a response code that says no more than that there is no answer.
    private func isBareFailure(_ reply: [UInt8]) -> Bool {
        let code = ResponseCode(rawValue: UInt16(reply[3] & 15))
        return reply[4] == 0 && reply[5] == 0 && code != .noError && code != .nameError
    }

    /// Whether it has this query's question alone, in any letter case. It stands at byte 12 of both, and its name cannot be
    /// compressed there.
    private func hasQuestion(_ reply: [UInt8]) -> Bool {
        guard reply.count >= questionEnd, reply[4] == 0, reply[5] == 1 else { return false }
        let nameEnd = Header.length + question.name.wire.count
        return reply[nameEnd..<questionEnd] == bytes[nameEnd..<questionEnd]
            && reply[Header.length..<nameEnd].elementsEqual(bytes[Header.length..<nameEnd]) {
                asciiLowercased($0) == asciiLowercased($1)
            }
    }
}

/// Why a response is not taken.
enum LocalDNSReplyError: Error, Hashable, Sendable {
    case wrongID
    case notAReply
    /// Another question.
    case wrongQuestion
    /// It ends early, or still has TC set over TCP.
    case truncated
    case malformed(MessageParseError)
}

extension LocalDNSReplyError: CustomStringConvertible {
    var description: String {
        switch self {
        case .wrongID: "the response has another ID"
        case .notAReply: "not a response to a query"
        case .wrongQuestion: "the response's question is not the one asked"
        case .truncated: "the response is truncated"
        case .malformed(let error): "the response cannot be read: \(error)"
        }
    }
}
