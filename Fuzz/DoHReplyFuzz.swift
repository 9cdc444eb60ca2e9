// Any bytes as the body of a DoH response: an answer is of the type asked for, has NOERROR or NXDOMAIN, and valid TTLs;
// no other status and no other media type is an answer.

import DNSWire
@testable import HTTPDNS

func fuzzDoHReply(_ input: [UInt8]) {
    guard let head = input.first, let name = try? Name("www.example.com") else { return }
    let body = Array(input.dropFirst())
    let types: [RecordType] = [.a, .aaaa, .cname, .https, .txt]
    let type = types[Int(head & 7) % types.count]
    let age = head & 8 == 0 ? nil : UInt32(head) << 20
    let question = UpstreamQuestion(name: name, types: [type])
    let format = DoHFormat(padsQueries: head & 16 != 0)
    let media = "application/dns-message"
    if case .success(let results) = format.outcome(
        of: HTTPResponse(status: 200, contentType: media, age: age, body: body), to: question)
    {
        check(results, type)
    }
    for response in [
        HTTPResponse(status: 503, contentType: media, body: body),
        HTTPResponse(status: 200, contentType: "text/html", body: body),
    ] {
        guard case .failure = format.outcome(of: response, to: question) else {
            preconditionFailure("an answer from an error")
        }
    }
}

private func check(_ results: UpstreamResults, _ asked: RecordType) {
    for (type, result) in results {
        precondition(type == asked, "a type that was not asked")
        guard case .answer(let answer) = result else { continue }
        precondition([.noError, .nameError].contains(answer.responseCode), "a failure as an answer")
        for record in answer.answers + answer.authorities {
            precondition(record.ttl <= UInt32(Int32.max), "a TTL that is none")
        }
    }
}
