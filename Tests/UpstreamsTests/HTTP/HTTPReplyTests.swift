import HTTPDNS
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

    @Test(
        arguments: [
            ("0", 0), ("007", 7), ("4294967295", .max), ("4294967296", .max), ("9223372036854775808", .max),
            (String(repeating: "9", count: 30), .max), ("", nil), ("+7", nil), ("-7", nil), ("7 s", nil),
        ] as [(String, UInt32?)])
    func `an age is digits alone, and at most what 32 bits hold`(text: String, age: UInt32?) {
        let reply = reply("Age: \(text)", "Retry-After: \(text)")
        #expect(reply.age == age && reply.retryAfter == (age == 0 ? nil : age))
    }

    @Test func `the time to wait may be a date, and one that is over is none`() {
        #expect(reply("Retry-After: Sun, 06 Nov 1994 08:49:37 GMT").retryAfter == nil)
        #expect(reply("Retry-After: Fri, 31 Dec 9999 23:59:59 GMT").retryAfter == .max)
    }

    @Test func `white space around a value is no part of it`() {
        let reply = reply("Content-Type:\t text/html \t", "Age: 7 ", "Date:  Sun, 06 Nov 1994 08:49:37 GMT \t ")
        #expect(reply.contentType == "text/html" && reply.age == 7 && reply.date == 784_111_777)
    }

    @Test func `fields whose names only begin like those that are read are passed over`() {
        let reply = reply(
            "Content-Length: 5", "Connection: gzip", "Allow: 7", "Dates: Sun, 06 Nov 1994 08:49:37 GMT", "Range: 7")
        #expect(reply.contentType == nil && reply.compression == nil && reply.age == nil)
        #expect(reply.date == nil && reply.retryAfter == nil)
    }

    @Test func `a year of more than four digits is no date`() {
        #expect(reply("Date: Sun Nov  6 08:49:37 1999991999").date == nil)
        #expect(reply("Retry-After: Sun Nov  6 08:49:37 1999991999").retryAfter == nil)
    }

    @Test(arguments: ["gzip", "GZIP", " x-gzip ", "deflate", "br", "zstd", "identity, gzip", "gzip, br"])
    func `a compression is recognised in any form of its field`(text: String) {
        #expect(reply("Content-Encoding: \(text)").compression != nil)
    }

    @Test func `a compression is recognised in a second field`() {
        #expect(reply("Content-Encoding: identity", "content-encoding: gzip").compression == .gzip)
    }

    @Test(arguments: ["identity", "", ",", "utf-8", "none", "gzipped"])
    func `a body that is sent as it is has no compression`(text: String) {
        #expect(reply("Content-Encoding: \(text)").compression == nil)
    }

    @Test func `what a trailer says of compression has no effect`() {
        let reply = reply()
        _ = Array("Content-Encoding: gzip\r\n".utf8).withUnsafeBytes { reply.receiveLine($0) }
        #expect(reply.compression == nil)
    }
}
