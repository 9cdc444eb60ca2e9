package import DNSWire

/// The wire format of one kind of HTTPDNS service: builds requests and interprets responses.
///
/// Both are pure functions: no socket, no clock, no state. `Upstreams.HTTPDNSProvider` transfers the bytes.
package protocol ProviderFormat: Sendable {
    /// Whether one request returns A and AAAA together.
    var answersBothFamilies: Bool { get }

    /// Whether the service can be queried for records of this type.
    func answers(_ type: RecordType) -> Bool

    /// The request for `question`.
    ///
    /// - Parameter time: seconds since 1970, corrected by the known offset of the service's clock.
    /// - Throws: when the name cannot be written in the service's format: the service cannot know it.
    func request(for question: ProviderQuestion, at time: Int64) throws(UpstreamFailure) -> HTTPRequest

    /// The outcome for a complete response. Never traps on any bytes.
    func outcome(of response: HTTPResponse, to question: ProviderQuestion) -> ProviderOutcome
}
