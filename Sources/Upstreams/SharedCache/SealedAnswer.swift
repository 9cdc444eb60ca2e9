import DNSResolver
import DNSWire

/// A provider's answer as it is in Redis: sealed for its question, so that what can write there can remove an answer, and
/// neither change one nor put it under another name.
///
/// A sealed value is the version, then a `SealBox` of: when it was received, its lifetime, the provider, the server, and
/// the records as a DNS message.
struct SealedAnswer: Equatable {
    /// The most bytes of a sealed value. Longer answers are not shared.
    static let longest = 8_192
    /// Seconds by which the clock of the server that received an answer may be ahead of ours.
    private static let skew: Int64 = 30
    /// An answer with less of its lifetime left than one part in so many is not used any more: a server that prefetches
    /// would get what it already has. At a tenth of the lifetime it prefetches (`FreshnessPolicy.refreshMargin`).
    private static let lastPart: Int64 = 8
    private static let longestServer = 64

    let answer: Answer
    /// In seconds since 1970.
    let received: Int64
    /// Seconds from then: the least TTL.
    let lifetime: UInt32
    /// The index of the provider in the policy.
    let provider: UInt8
    /// The address and port of the server that answered.
    let server: String

    /// The value; nil for what is not shared: it is too long, or the library cannot seal.
    func sealed(for place: SharedPlace) -> [UInt8]? {
        guard let box = place.seal(contents(for: place.question)), box.count < Self.longest else { return nil }
        return [SharedQuestion.version] + box
    }

    /// Nil for a value that was not sealed for this question by the fleet's secret.
    init?(_ value: [UInt8], for place: SharedPlace) {
        guard value.first == SharedQuestion.version, value.count <= Self.longest,
            let contents = place.open(Array(value.dropFirst()))
        else { return nil }
        self.init(contents: contents, for: place.question)
    }

    init(answer: Answer, received: Int64, lifetime: UInt32, provider: UInt8, server: String) {
        self.answer = answer
        self.received = received
        self.lifetime = lifetime
        self.provider = provider
        self.server = server
    }

    /// The answer with its remaining TTLs; nil once it is of no use. Never fresher than when it was received.
    ///
    /// - Parameter now: seconds since 1970 by our clock, which may differ from that of the server that received it.
    func shared(as type: RecordType, at now: Int64) -> SharedAnswer? {
        let (age, overflow) = now.subtractingReportingOverflow(received)
        guard !overflow, age >= -Self.skew else { return nil }
        let elapsed = max(0, age)
        let rest = Int64(lifetime) - min(elapsed, Int64(lifetime))
        guard rest > 0, rest * Self.lastPart > Int64(lifetime) else { return nil }
        var aged = answer
        for index in aged.answers.indices { Self.age(&aged.answers[index], by: elapsed) }
        for index in aged.authorities.indices { Self.age(&aged.authorities[index], by: elapsed) }
        for index in aged.additionals.indices { Self.age(&aged.additionals[index], by: elapsed) }
        return SharedAnswer(
            type: type, answer: aged, remaining: UInt32(clamping: rest), provider: Int(provider), server: server)
    }

    private static func age(_ record: inout Record, by elapsed: Int64) {
        record.ttl = UInt32(clamping: Int64(record.ttl) - min(elapsed, Int64(record.ttl)))
    }
}

extension SealedAnswer {
    /// What is sealed.
    func contents(for question: SharedQuestion) -> [UInt8] {
        let message = Message(
            questions: [question.question], answers: answer.answers, authorities: answer.authorities,
            additionals: answer.additionals)
        let server = Array(server.utf8.prefix(Self.longestServer))
        return Self.bytes(UInt64(bitPattern: received), 8) + Self.bytes(UInt64(lifetime), 4)
            + [provider, UInt8(truncatingIfNeeded: answer.responseCode.rawValue)]
            + [UInt8(truncatingIfNeeded: server.count)] + server + message.encoded
    }

    /// Nil for what `contents` did not make.
    init?(contents: [UInt8], for question: SharedQuestion) {
        // Received, lifetime, provider, response code, length of the server's text.
        let head = 15
        guard contents.count >= head else { return nil }
        let start = head + Int(contents[14])
        guard contents[14] <= Self.longestServer, contents.count >= start,
            let server = String(validating: contents[head..<start], as: UTF8.self),
            let message = try? MessageParser.parse(Array(contents[start...])),
            message.questions == [question.question]
        else { return nil }
        let code = ResponseCode(rawValue: UInt16(contents[13]))
        guard code == .noError || code == .nameError else { return nil }
        self.init(
            answer: Answer(
                responseCode: code, answers: message.answers, authorities: message.authorities,
                additionals: message.additionals),
            received: Int64(bitPattern: Self.number(contents[0..<8])),
            lifetime: UInt32(truncatingIfNeeded: Self.number(contents[8..<12])), provider: contents[12], server: server)
    }

    /// Big-endian.
    private static func bytes(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
