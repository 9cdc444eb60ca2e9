import DNSWire
import HTTPDNS
import Testing

@testable import Upstreams

/// The fields of a response's header.
struct HTTPReplyTests {
    private func reply(_ fields: String..., isDocument: Bool = false, trailer: String? = nil) -> HTTPResponse {
        let reply = HTTPStream(HTTPRequest(target: "/"), isDocument: isDocument, at: Instant(nanoseconds: 0))
        _ = Array("200".utf8).withUnsafeBytes { reply.begin(status: $0, length: 0, at: Instant(nanoseconds: 0)) }
        func take(_ field: String) {
            let parts = field.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            _ = Array(parts[0].utf8).withUnsafeBytes { name in
                Array(parts[1].utf8).withUnsafeBytes { reply.receiveField(name, $0) }
            }
        }
        fields.forEach(take)
        reply.endHeader()
        trailer.map(take)
        return reply.response
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
        #expect(reply("Content-Encoding: identity", "content-encoding: gzip").compression == "gzip")
    }

    @Test(arguments: ["identity", "", ",", "utf-8", "none", "gzipped"])
    func `a body that is sent as it is has no compression`(text: String) {
        #expect(reply("Content-Encoding: \(text)").compression == nil)
    }

    @Test func `what a trailer says of compression has no effect`() {
        #expect(reply(trailer: "Content-Encoding: gzip").compression == nil)
    }

    @Test func `a document has its entity tag, and a reply to a query has none`() {
        #expect(reply("ETag: \"5f-1\"", "etag: \"second\"", isDocument: true).entityTag == "\"5f-1\"")
        #expect(reply("ETag: \"5f-1\"").entityTag == nil)
    }

    @Test func `an entity tag that cannot be sent back is ignored`() {
        for tag in ["", "\"\u{1}\"", String(repeating: "x", count: 257)] {
            #expect(reply("ETag: \(tag)", isDocument: true).entityTag == nil)
        }
    }

    @Test func `a document may have 4 MiB, and a reply to a query 64 KiB`() {
        for (isDocument, limit) in [(true, 4 << 20), (false, 65_536)] {
            let reply = HTTPStream(HTTPRequest(target: "/"), isDocument: isDocument, at: Instant(nanoseconds: 0))
            let body = [UInt8](repeating: 1, count: limit)
            #expect(body.withUnsafeBytes { reply.receiveBody($0) })
            #expect(![UInt8(1)].withUnsafeBytes { reply.receiveBody($0) })
        }
    }
}
