// Any bytes as the header lines and the body of an HTTP reply: the limits hold, numbers and dates are within their
// ranges, and a response that is read again after another one has the same result.

@testable import Upstreams

func fuzzHTTPReply(_ input: [UInt8]) {
    let reply = HTTPReply()
    read(input, into: reply)
    let first = (reply.contentType, reply.age, reply.date, reply.body)
    if let date = reply.date {
        // From the year 0 to the year 10,000; the older forms have no year before 1583.
        precondition((-62_167_219_200...253_402_387_200).contains(date), "a date without a year of four digits")
    }
    precondition(reply.retryAfter != 0, "a wait of no time")
    precondition(reply.contentType.map { $0.utf8.count <= 3 * HTTPLimits.header } ?? true, "a type beyond the limit")
    read(input, into: reply)
    precondition(first == (reply.contentType, reply.age, reply.date, reply.body), "it reads otherwise the second time")
}

/// Reads lines, each up to its line feed as passed by libcurl, and after an empty one the body in two parts.
private func read(_ input: [UInt8], into reply: HTTPReply) {
    reply.reset()
    var rest = input[...]
    var size = 0
    while !rest.isEmpty {
        let end = rest.firstIndex(of: 10).map { $0 + 1 } ?? rest.endIndex
        let line = rest[..<end]
        rest = rest[end...]
        size += line.count
        guard line.withUnsafeBytes({ reply.receiveLine($0) }) else { return }
        precondition(size <= HTTPLimits.header + input.count, "a header without end is taken")
        if line.count <= 2 { break }
    }
    let half = rest.startIndex + rest.count / 2
    for part in [rest[..<half], rest[half...]] {
        guard part.withUnsafeBytes({ reply.receiveBody($0) }) else { return }
    }
    precondition(reply.body.count == rest.count && rest.count <= HTTPLimits.body, "another body")
}
