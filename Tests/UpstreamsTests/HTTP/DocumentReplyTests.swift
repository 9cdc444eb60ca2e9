import Testing

@testable import Upstreams

/// Replies that are documents, beside those to queries.
@Suite struct DocumentReplyTests {
    private func reply(_ lines: [String], isDocument: Bool) -> HTTPReply {
        let reply = HTTPReply(isDocument: isDocument)
        reply.beginHeader()
        for line in lines {
            _ = Array(line.utf8).withUnsafeBytes { reply.receiveLine($0) }
        }
        return reply
    }

    @Test func `a document has its entity tag, and a reply to a query has none`() {
        let lines = ["ETag: \"5f-1\"\r\n", "etag: \"second\"\r\n"]
        #expect(reply(lines, isDocument: true).entityTag == "\"5f-1\"")
        #expect(reply(lines, isDocument: false).entityTag == nil)
    }

    @Test func `an entity tag that cannot be sent back is ignored`() {
        for tag in ["", "\"\u{1}\"", String(repeating: "x", count: 257)] {
            #expect(reply(["ETag: \(tag)\r\n"], isDocument: true).entityTag == nil)
        }
    }

    @Test func `a document may have 4 MiB, and a reply to a query 64 KiB`() {
        for (isDocument, limit) in [(true, 4 << 20), (false, 65_536)] {
            let reply = reply([], isDocument: isDocument)
            let body = [UInt8](repeating: 1, count: limit)
            #expect(body.withUnsafeBytes { reply.receiveBody($0) })
            #expect(![UInt8(1)].withUnsafeBytes { reply.receiveBody($0) })
        }
    }
}
