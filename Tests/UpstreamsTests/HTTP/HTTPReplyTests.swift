import Testing

@testable import Upstreams

/// The fields of a response's header.
@Suite struct HTTPReplyTests {
    private func reply(_ fields: String...) -> HTTPReply {
        let reply = HTTPReply()
        reply.reset()
        for line in ["HTTP/1.1 200 OK"] + fields + [""] {
            _ = Array("\(line)\r\n".utf8).withUnsafeBytes { reply.receiveLine($0) }
        }
        return reply
    }

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
    func `a date is read in each of the three forms of HTTP`(text: String) {
        #expect(reply("Date: \(text)").date == 784_111_777)
    }

    @Test func `a year of more than four digits is no date`() {
        #expect(reply("Date: Sun Nov  6 08:49:37 1999991999").date == nil)
        #expect(reply("Retry-After: Sun Nov  6 08:49:37 1999991999").retryAfter == nil)
    }
}
