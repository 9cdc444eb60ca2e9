import DNSWire

/// A value in Redis: the answers to a question, sealed for it, so that what can write there can remove a value, and neither
/// change one nor put it under another name.
///
/// It is the version, then a `SealBox` of the answers, each behind its length in two bytes.
enum SealedValue {
    /// The most bytes of a value. Longer answers are not shared.
    static let longest = 8_192

    /// The value; nil for what is not shared: it is too long, or the library cannot seal.
    static func sealed(_ answers: [SealedAnswer], for place: SharedPlace) -> [UInt8]? {
        let text = contents(answers, for: place.question.name)
        guard text.count + SealBox.overhead < longest, let box = place.seal(text) else { return nil }
        return [SharedQuestion.version] + box
    }

    /// The answers in a value; nil for one that was not sealed for this question by the fleet's secret.
    static func opened(_ value: [UInt8], for place: SharedPlace) -> [SealedAnswer]? {
        guard value.first == SharedQuestion.version, value.count <= longest,
            let text = place.open(Array(value.dropFirst()))
        else { return nil }
        return answers(in: text, for: place.question)
    }

    /// What is sealed.
    static func contents(_ answers: [SealedAnswer], for name: Name) -> [UInt8] {
        var text: [UInt8] = []
        for answer in answers {
            let contents = answer.contents(for: name)
            guard let length = UInt16(exactly: contents.count) else { continue }
            text.append(UInt8(length >> 8))
            text.append(UInt8(truncatingIfNeeded: length))
            text += contents
        }
        return text
    }

    /// Nil for what `contents` did not make for this question.
    static func answers(in text: [UInt8], for question: SharedQuestion) -> [SealedAnswer]? {
        var answers: [SealedAnswer] = []
        var rest = text[...]
        while let high = rest.popFirst() {
            guard let low = rest.popFirst() else { return nil }
            let length = Int(high) << 8 | Int(low)
            guard length <= rest.count,
                let answer = SealedAnswer(contents: Array(rest.prefix(length)), for: question.name),
                question.types.contains(answer.type), !answers.contains(where: { $0.type == answer.type })
            else { return nil }
            answers.append(answer)
            rest = rest.dropFirst(length)
        }
        return answers
    }
}
