package import DNSWire

/// Interprets the response of a DoH server, in wire format or in JSON.
enum DoHOutcome {
    /// The outcome for a message that came with a 2xx status.
    ///
    /// - Parameters:
    ///   - dnssecOK: whether signatures were requested.
    ///   - age: seconds that the response has been in an HTTP cache.
    static func outcome(
        of message: Message, to question: Question, dnssecOK: Bool, age: UInt32?
    ) -> ProviderOutcome {
        switch ReceivedReply(message, to: question, dnssecOK: dnssecOK) {
        case .answer(let answer):
            // Aliyun returns an empty response without an SOA for names that the account does not list. An alias is a record:
            // its name is known.
            let hasSOA = answer.authorities.contains { $0.type == .soa }
            if answer.responseCode == .noError, answer.answers.isEmpty, !hasSOA {
                return .results([question.type: .indeterminateEmpty(ttl: nil)])
            }
            return .results([question.type: .answer(answer.aged(by: age ?? 0))])
        case .failure(let code): return .failure(.responseCode(code))
        case .endlessAliases: return .failure(.rejected("the name's chain of aliases has no end"))
        case .truncated: return .failure(.unusable("the reply is truncated"))
        case .mismatch: return .failure(.unusable("no reply to this question"))
        }
    }

    /// The outcome for a status other than 2xx.
    ///
    /// - Parameter text: the failure's text; nil: the status.
    static func failure(of response: HTTPResponse, text: String? = nil) -> UpstreamFailure {
        switch response.status {
        // Bad request, content or URI too long: the same query would fail at another address too.
        case 400, 413, 414: .rejected(text ?? "HTTP \(response.status)")
        default: HTTPStatusFailure.failure(of: response, text: text)
        }
    }
}

extension Answer {
    /// The same answer after `age` seconds in another cache (RFC 8484 section 5.1): every TTL is reduced by that, to no
    /// less than 0.
    package func aged(by age: UInt32) -> Answer {
        var answer = self
        for index in answer.answers.indices { answer.answers[index].age(by: age) }
        for index in answer.authorities.indices { answer.authorities[index].age(by: age) }
        for index in answer.additionals.indices { answer.additionals[index].age(by: age) }
        return answer
    }
}

extension Record {
    fileprivate mutating func age(by age: UInt32) { ttl -= min(ttl, age) }
}
