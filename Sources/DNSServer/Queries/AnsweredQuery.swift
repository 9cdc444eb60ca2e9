package import DNSResolver
package import DNSWire
package import Platform

/// A query and what its client was told, for the log of queries.
package struct AnsweredQuery: Sendable {
    package let client: IPAddress
    package let transport: Transport
    /// As asked; nil when it could not be read.
    package let question: Question?
    package let responseCode: ResponseCode
    package let origin: Response.Origin
    /// Whether the answer was past its TTL.
    package let isStale: Bool
    /// From the query's arrival to its reply.
    package let took: Duration
}

extension AnsweredQuery {
    /// A query that was answered without the resolver: from the cache, or turned away.
    ///
    /// - Parameter reply: its beginning is looked at.
    init?(
        _ message: Span<UInt8>, reply: Span<UInt8>, client: IPAddress, transport: Transport, took: Duration
    ) {
        guard let query = Query.read(message), reply.count >= Header.length else { return nil }
        self.client = client
        self.transport = transport
        question = Question(query, in: message)
        let code = ResponseCode(rawValue: UInt16(reply[3] & 0xf))
        // The header has no room for a code such as BADVERS.
        responseCode = code == .noError ? query.fault : code
        origin = responseCode == .noError || responseCode == .nameError ? .cache : .ourselves
        isStale = false
        self.took = took
    }
}

extension Question {
    /// The question of a query that was read from `message`.
    init?(_ query: Query, in message: Span<UInt8>) {
        guard query.questionLength > 0 else { return nil }
        var wire: [UInt8] = []
        wire.append(addingCapacity: query.nameLength) { output in
            for index in 0..<query.nameLength { output.append(message[Header.length + index]) }
        }
        guard let name = try? Name(wire: wire) else { return nil }
        self.init(name: name, type: query.type, class: query.class)
    }
}
