package import DNSWire

/// The result of asking an upstream, for every type asked for.
package struct UpstreamReply: Hashable, Sendable {
    package var results: RecordTypeMap<UpstreamResult>
    /// The address and port of the server that answered; empty when none did.
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

extension UpstreamReply {
    /// Whether the attempt was cancelled without any result.
    var isCancelled: Bool {
        !results.containsValue { if case .failure(.cancelled) = $0 { false } else { true } }
    }

    /// Why the reply has no result at all; nil when it has one, or the attempt was cancelled.
    package var failure: UpstreamFailure? {
        var last: UpstreamFailure?
        let hasResult = results.containsValue { result in
            guard case .failure(let failure) = result else { return true }
            if failure != .cancelled { last = failure }
            return false
        }
        return hasResult ? nil : last
    }
}
