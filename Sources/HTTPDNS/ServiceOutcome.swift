package import DNSWire

/// What a reply means, for each type that was asked.
package enum ServiceOutcome: Hashable, Sendable {
    case results([RecordType: ServiceResult])
    case failure(ServiceFailure)
}

/// What a service told of one type.
package enum ServiceResult: Hashable, Sendable {
    /// Records, or a told NXDOMAIN or NODATA with its SOA.
    case answer(Answer)
    /// Nothing, and the wire does not tell why: unknown to the service, no such name, or no such record.
    ///
    /// `ttl`: seconds that the service gave for it, if it did.
    case unknownEmpty(ttl: UInt32?)
}

/// Why a service gave no answer, by what should be done next. Texts never hold secrets.
package enum ServiceFailure: Error, Hashable, Sendable {
    /// The next address, then the next service: time-outs, 429, 5xx, bodies that cannot be read.
    case unavailable(String, retryAfter: UInt32? = nil)
    /// The account or signature is refused: put the service aside, do not retry.
    case authentication(String)
    /// Our clock differs from the service's by more than it takes; `serverTime` in seconds since 1970, if it told.
    case clockSkew(String, serverTime: Int64?)
    /// The service refuses this question and would again: the next service, no retry.
    case rejected(String)
    /// The service is well and could not answer this question: SERVFAIL, REFUSED and the like. The next service.
    case responseCode(ResponseCode)
}
