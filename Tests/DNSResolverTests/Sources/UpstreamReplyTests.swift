import DNSWire
import Testing

@testable import DNSResolver

/// What a reply says about the attempt as a whole.
struct UpstreamReplyTests {
    private static let timeout = UpstreamResult.failure(.timeout)
    private static let cancelled = UpstreamResult.failure(.cancelled)

    @Test(
        arguments: [
            ([cancelled], true), ([cancelled, cancelled], true), ([timeout], false), ([cancelled, timeout], false),
            ([.indeterminateEmpty(ttl: nil)], false), ([cancelled, .indeterminateEmpty(ttl: nil)], false),
        ] as [([UpstreamResult], Bool)])
    func `an attempt is cancelled when it has no other result`(results: [UpstreamResult], isCancelled: Bool) {
        let reply = UpstreamReply(Array([.a, .aaaa].prefix(results.count))) { results[$0 == .a ? 0 : 1] }
        #expect((reply.failure == .cancelled) == isCancelled)
    }
}
