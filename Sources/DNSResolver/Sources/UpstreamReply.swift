package import DNSWire

/// What came of asking: a result for every type asked.
package struct UpstreamReply: Hashable, Sendable {
    package var results: RecordTypeMap<UpstreamResult>
    /// The address and port of the server that told it; empty when none did.
    package var server: String

    package init(_ results: RecordTypeMap<UpstreamResult>, server: String = "") {
        self.results = results
        self.server = server
    }

    /// A result for each of `types`.
    package init(_ types: [RecordType], server: String = "", result: (RecordType) -> UpstreamResult) {
        var results = RecordTypeMap<UpstreamResult>()
        for type in types { results[type] = result(type) }
        self.init(results, server: server)
    }

    /// The same failure for each of `types`.
    package init(failure: UpstreamFailure, types: [RecordType]) {
        self.init(RecordTypeMap(types.lazy.map { ($0, .failure(failure)) }))
    }
}

/// What came of asking for one type.
package enum UpstreamResult: Hashable, Sendable {
    /// Records, or a told NXDOMAIN or NODATA. In a box, for it is handed on many times.
    indirect case answer(Answer)
    /// Nothing, without a cause: the next source is asked. `ttl`: seconds that the service gave for it, if it did.
    case unknownEmpty(ttl: UInt32?)
    case failure(UpstreamFailure)
}
