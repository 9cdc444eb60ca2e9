package import DNSWire

/// The wire form of one kind of HTTPDNS service: how to ask it, and what its replies mean.
///
/// A pure pair: no socket, no clock, no state. `Upstreams.HTTPDNSUpstream` carries the bytes.
package protocol Service: Sendable {
    /// Whether one request brings A and AAAA together.
    var answersBothFamilies: Bool { get }

    /// Whether the service can be asked for records of this type at all.
    func answers(_ type: RecordType) -> Bool

    /// The request for `question`.
    ///
    /// - Parameter time: seconds since 1970, corrected by what is known of the service's clock.
    /// - Throws: when the name cannot be written in the service's form: the service cannot know it.
    func request(for question: ServiceQuestion, at time: Int64) throws(ServiceFailure) -> HTTPRequest

    /// What a complete reply means. Never traps on any bytes.
    func outcome(of response: HTTPResponse, to question: ServiceQuestion) -> ServiceOutcome
}
