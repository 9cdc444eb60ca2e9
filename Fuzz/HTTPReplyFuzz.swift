// Any bytes as what a server sends over HTTP/1.1 for one request: the limits hold, numbers and dates are within their
// ranges, and the same bytes in two parts have the same result.

import DNSWire
import HTTPDNS

@testable import Upstreams

func fuzzHTTPReply(_ input: [UInt8]) {
    let whole = reply(to: [input[...]])
    let half = input.count / 2
    precondition(whole == reply(to: [input[..<half], input[half...]]), "it reads otherwise in two parts")
    guard case .success(let response)? = whole else { return }
    if let date = response.date {
        // From the year 0 to the year 10,000; the older forms have no year before 1583.
        precondition((-62_167_219_200...253_402_387_200).contains(date), "a date without a year of four digits")
    }
    precondition(response.retryAfter != 0, "a wait of no time")
    precondition(response.contentType.map { $0.utf8.count <= 3 * HTTPLimits.header } ?? true, "a type beyond the limit")
    precondition(response.body.count <= min(input.count, HTTPLimits.body), "a body beyond the limit")
    precondition(response.status >= 200, "an informational reply is the last one")
}

/// The result after all parts and the end of the connection; nil: the reply is not whole.
private func reply(to parts: [ArraySlice<UInt8>]) -> Result<HTTPResponse, UpstreamFailure>? {
    let session = HTTP1Session(authority: "service.example")
    let stream = HTTPStream(HTTPRequest(target: "/"), at: Instant(nanoseconds: 0))
    do {
        try session.open(stream, path: "/")
    } catch {
        preconditionFailure("\(error)")
    }
    var sent: [UInt8] = []
    session.takeFrames(into: &sent, limit: .max)
    for part in parts { part.withUnsafeBytes { session.receive($0, at: Instant(nanoseconds: 0)) } }
    session.receiveEnd()
    var ended: [HTTPSession.Ended] = []
    session.takeEnded(into: &ended)
    precondition(ended.count <= 1 && session.isOver, "another end than one")
    guard !ended.isEmpty else { return nil }
    if let failure = stream.failure { return .failure(failure) }
    precondition(stream.isComplete, "an end without a reply and without a failure")
    return .success(stream.response)
}
