package import DNSCache
package import DNSWire

/// What a client is told.
package struct Response: Sendable {
    package enum Content: Sendable {
        /// A positive or negative answer; its TTLs go out less `age` seconds.
        case answer(PackedAnswer, age: UInt32)
        /// An answer past its TTL; its TTLs go out as 30 seconds.
        case stale(PackedAnswer)
        /// No answer: SERVFAIL, REFUSED, NOTIMP or another code without records.
        case failure(ResponseCode)
    }

    /// Where an answer came from, for the log of queries.
    package enum Origin: Hashable, Sendable {
        /// There is no answer, or it was made here.
        case ourselves
        /// It was kept, and is fresh or not.
        case cache
        /// A source of the policy, by its number among `SourceTags`, was asked for it.
        case source(UInt16)
    }

    package var content: Content
    package var origin: Origin
    /// Why the answer is not what it could be; told only to clients that sent an OPT record.
    package var extendedError: ExtendedError?

    /// The code that the client gets.
    package var responseCode: ResponseCode {
        switch content {
        case .answer(let answer, _), .stale(let answer): answer.responseCode
        case .failure(let code): code
        }
    }

    /// Whether the answer is past its TTL.
    package var isStale: Bool { if case .stale = content { true } else { false } }

    package init(_ content: Content, extendedError: ExtendedError? = nil, from origin: Origin = .ourselves) {
        self.content = content
        self.origin = origin
        self.extendedError = extendedError
    }
}
