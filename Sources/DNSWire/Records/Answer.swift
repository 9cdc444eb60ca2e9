/// An upstream's answer to one question: an RCODE and records, independent of the transport.
///
/// NOERROR, NXDOMAIN, or any other code of the header's four bits. The OPT record and the question are not included.
package struct Answer: Hashable, Sendable {
    package var responseCode: ResponseCode
    package var answers: [Record]
    package var authorities: [Record]
    package var additionals: [Record]

    package init(
        responseCode: ResponseCode = .noError, answers: [Record] = [], authorities: [Record] = [],
        additionals: [Record] = []
    ) {
        self.responseCode = responseCode
        self.answers = answers
        self.authorities = authorities
        self.additionals = additionals
    }

    /// An answer of addresses, one record for each, owned by `name`.
    package init(name: Name, addresses: [IPAddress], ttl: UInt32) {
        self.init(answers: addresses.map { Record(name: name, address: $0, ttl: ttl) })
    }

    /// A negative answer with an SOA record whose TTL and MINIMUM are `ttl` seconds.
    package static func negative(_ responseCode: ResponseCode = .noError, name: Name, ttl: UInt32) -> Answer {
        Answer(responseCode: responseCode, authorities: [.negativeSOA(for: name, ttl: ttl)])
    }

    /// Whether it is NXDOMAIN or NODATA: there is no record of `type` at the end of the chain of CNAME records.
    package func isNegative(for type: RecordType) -> Bool {
        responseCode != .noError || !answers.contains { $0.type == type || type == .any }
    }

    /// The addresses in the answer section.
    package var addresses: [IPAddress] { answers.compactMap(\.address) }
}
