import DNSResolver
import DNSWire
import HTTPDNS

/// A provider's answer as it is in Redis, within a `SealedValue`: when it was received, its lifetime, the provider, the
/// server, and the records as a DNS message.
struct SealedAnswer: Equatable {
    /// Seconds by which the clock of the server that received an answer may be ahead of ours.
    private static let skew: Int64 = 30
    private static let longestServer = 64
    /// Received, lifetime, provider, response code, length of the server's text.
    private static let headLength = 15

    let type: RecordType
    let answer: Answer
    /// In seconds since 1970.
    let received: Int64
    /// Seconds from then: the least TTL.
    let lifetime: UInt32
    /// The index of the provider in the policy.
    let provider: UInt8
    /// The address and port of the server that answered.
    let server: String

    init(
        _ type: RecordType, answer: Answer, received: Int64, lifetime: UInt32, provider: UInt8, server: String
    ) {
        self.type = type
        self.answer = answer
        self.received = received
        self.lifetime = lifetime
        self.provider = provider
        self.server = server
    }

    /// The answer with its remaining TTLs; nil once it is of no use. Never fresher than when it was received.
    ///
    /// - Parameter now: seconds since 1970 by our clock, which may differ from that of the server that received it.
    func shared(at now: Int64) -> SharedAnswer? {
        let age = OutsideNumber(now) - received
        let elapsed = age.clamped(to: 0...lifetime)
        guard age + Self.skew >= 0, elapsed < lifetime else { return nil }
        return SharedAnswer(
            type: type, answer: answer.aged(by: elapsed), remaining: lifetime - elapsed, provider: Int(provider),
            server: server)
    }
}

extension SealedAnswer {
    /// - Parameter name: which the question asks for.
    func contents(for name: Name) -> [UInt8] {
        let message = Message(
            questions: [Question(name: name, type: type)], answers: answer.answers, authorities: answer.authorities,
            additionals: answer.additionals)
        let (server, records) = (server.utf8.prefix(Self.longestServer), message.encoded)
        var contents: [UInt8] = []
        contents.reserveCapacity(Self.headLength + Self.longestServer + records.count)
        Self.append(UInt64(bitPattern: received), 8, to: &contents)
        Self.append(UInt64(lifetime), 4, to: &contents)
        contents.append(provider)
        contents.append(UInt8(truncatingIfNeeded: answer.responseCode.rawValue))
        contents.append(UInt8(truncatingIfNeeded: server.count))
        contents += server
        contents += records
        return contents
    }

    /// Nil for what `contents` did not make.
    init?(contents: [UInt8], for name: Name) {
        let head = Self.headLength
        guard contents.count >= head else { return nil }
        let start = head + Int(contents[14])
        guard contents[14] <= Self.longestServer, contents.count >= start,
            let server = String(validating: contents[head..<start], as: UTF8.self),
            let message = try? MessageParser.parse(Array(contents[start...])),
            message.questions.count == 1, let question = message.questions.first, question.name == name
        else { return nil }
        let code = ResponseCode(rawValue: UInt16(contents[13]))
        guard code == .noError || code == .nameError else { return nil }
        self.init(
            question.type,
            answer: Answer(
                responseCode: code, answers: message.answers, authorities: message.authorities,
                additionals: message.additionals),
            received: Int64(bitPattern: Self.number(contents[0..<8])),
            lifetime: UInt32(truncatingIfNeeded: Self.number(contents[8..<12])), provider: contents[12], server: server)
    }

    /// Big-endian.
    private static func append(_ value: UInt64, _ count: Int, to bytes: inout [UInt8]) {
        for shift in stride(from: 8 * (count - 1), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(shift)))
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
