import DNSResolver
import DNSWire
import HTTPDNS

/// A provider's answer as it is in Redis, within a sealed value: when it was received, its lifetime, the provider, the
/// server, and the records as a DNS message.
struct SealedAnswer: Equatable {
    /// Seconds by which the clock of the server that received an answer may be ahead of ours.
    private static let skew: Int64 = 30
    private static let longestServer = 64

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

    /// The answer with its remaining TTLs; nil once it is of no use. Never fresher than when it was received, though our
    /// `now`, in seconds since 1970, may differ from the clock of the server that received it.
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
        let server = server.utf8.prefix(Self.longestServer)
        var contents: [UInt8] = []
        contents.append(received, bytes: 8)
        contents.append(lifetime, bytes: 4)
        contents += [
            provider, UInt8(truncatingIfNeeded: answer.responseCode.rawValue), UInt8(truncatingIfNeeded: server.count),
        ]
        return contents + server + message.encoded
    }

    /// Nil for what `contents` did not make.
    init?(contents: [UInt8], for name: Name) {
        var rest = ByteReader(contents)
        guard let received = rest.bytes(8)?.number, let lifetime = rest.number(4),
            let provider = rest.number(1).flatMap({ UInt8(exactly: $0) }),
            let code = rest.number(1).map({ ResponseCode(rawValue: UInt16(truncatingIfNeeded: $0)) }),
            code == .noError || code == .nameError, let server = rest.string(behind: 1),
            server.count <= Self.longestServer, let server = String(validating: server, as: UTF8.self),
            let message = try? MessageParser.parse(Array(rest.rest)),
            message.questions.count == 1, let question = message.questions.first, question.name == name
        else { return nil }
        self.init(
            type: question.type,
            answer: Answer(
                responseCode: code, answers: message.answers, authorities: message.authorities,
                additionals: message.additionals),
            received: Int64(bitPattern: received), lifetime: UInt32(truncatingIfNeeded: lifetime), provider: provider,
            server: server)
    }
}

/// A value in Redis: the answers to a question, sealed for it, so that what can write there can remove a value, and neither
/// change one nor put it under another name.
///
/// It is the version, then, sealed, the answers, each behind its length in two bytes.
extension SealedAnswer {
    /// The most bytes of a value. Longer answers are not shared.
    static let longest = 8_192

    /// The value; nil for what is not shared: it is too long, or the library cannot seal.
    static func sealed(_ answers: [SealedAnswer], for question: SharedQuestion, at place: SharedPlace) -> [UInt8]? {
        let text = contents(answers, for: question.name)
        guard text.count + OpenSSLCrypto.sealingOverhead < longest, let box = place.seal(text) else { return nil }
        return [SharedQuestion.version] + box
    }

    /// The answers in a value; nil for one that was not sealed for this question by the fleet's secret.
    static func opened(_ value: [UInt8], for question: SharedQuestion, at place: SharedPlace) -> [SealedAnswer]? {
        guard value.first == SharedQuestion.version, value.count <= longest,
            let text = place.open(Array(value.dropFirst()))
        else { return nil }
        return answers(in: text, for: question)
    }

    static func contents(_ answers: [SealedAnswer], for name: Name) -> [UInt8] {
        var text: [UInt8] = []
        for answer in answers {
            let contents = answer.contents(for: name)
            guard let length = UInt16(exactly: contents.count) else { continue }
            text.append(length, bytes: 2)
            text += contents
        }
        return text
    }

    /// Nil for what `contents` did not make for this question.
    static func answers(in text: [UInt8], for question: SharedQuestion) -> [SealedAnswer]? {
        var answers: [SealedAnswer] = []
        var rest = ByteReader(text)
        while !rest.isAtEnd {
            guard let contents = rest.string(behind: 2),
                let answer = SealedAnswer(contents: Array(contents), for: question.name),
                question.types.contains(answer.type), !answers.contains(where: { $0.type == answer.type })
            else { return nil }
            answers.append(answer)
        }
        return answers
    }
}
