package import DNSCache
package import DNSWire

/// The content of a response to a client.
package struct Response: Sendable {
    package enum Content: Sendable {
        /// A positive or negative answer; its TTLs are sent less `age` seconds.
        case answer(PackedAnswer, age: UInt32)
        /// An answer past its TTL; its TTLs are sent as 30 seconds.
        case stale(PackedAnswer)
        /// A response without records: SERVFAIL, REFUSED, NOTIMP or another RCODE.
        case failure(ResponseCode)
    }

    /// Where an answer came from, for the query log.
    package enum Origin: Hashable, Sendable {
        /// There is no answer, or it was synthesized by this server.
        case ourselves
        /// It was in the cache, fresh or stale.
        case cache
        /// The archive alone had it, fresh or stale.
        case archive
        /// A source of the policy, by its number among `SourceTags`, was queried for it, or made it.
        case source(UInt16, AnswerKind)
    }

    package var content: Content
    package var origin: Origin
    /// Why the answer is degraded or missing; sent only to clients whose query had an OPT record (RFC 8914).
    package var extendedError: ExtendedError?

    /// The RCODE of the response.
    package var responseCode: ResponseCode {
        switch content {
        case .answer(let answer, _), .stale(let answer): answer.responseCode
        case .failure(let code): code
        }
    }

    /// The same as an answer that the archive had.
    var recalled: Response {
        Response(content, extendedError: extendedError, from: origin == .cache ? .archive : origin)
    }

    package init(_ content: Content, extendedError: ExtendedError? = nil, from origin: Origin = .ourselves) {
        self.content = content
        self.origin = origin
        self.extendedError = extendedError
    }
}

extension Response {
    /// The number of the source that was asked for it, or made it.
    package var source: UInt16? { if case .source(let tag, _) = origin { tag } else { nil } }

    /// The kind by which it is counted.
    package var kind: AnswerKind {
        switch (content, origin) {
        case (.failure(.serverFailure), _): .failure
        case (.failure, _): .rule
        case (.stale, _): .stale
        case (.answer, .ourselves): .rule
        case (.answer, .cache): .cache
        case (.answer, .archive): .disk
        case (.answer, .source(_, let kind)): kind
        }
    }
}

extension Response {
    var isFailure: Bool { if case .failure = content { true } else { false } }

    /// Its records with the TTLs that are sent to a client; nil for a failure.
    func records(for question: Question) -> Answer? {
        switch content {
        case .answer(let answer, let age): answer.unpacked(for: question)?.aged(.fresh(age: age))
        case .stale(let answer): answer.unpacked(for: question)?.aged(.stale)
        case .failure: nil
        }
    }
}

extension Answer {
    /// The same with the TTLs that a client gets.
    consuming func aged(_ aging: Reply.Aging) -> Answer {
        for index in answers.indices { answers[index].ttl = aging.ttl(answers[index].ttl) }
        for index in authorities.indices { authorities[index].ttl = aging.ttl(authorities[index].ttl) }
        return self
    }
}
