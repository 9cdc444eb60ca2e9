// Any bytes as the body of a DoH response in JSON: everything in an answer follows from the name asked for.

import DNSWire
@testable import HTTPDNS

func fuzzDoHJSONReply(_ body: [UInt8]) {
    guard let host = try? Name("www.example.com") else { preconditionFailure("no name") }
    let format = DoHJSONFormat()
    for type in [RecordType.a, .aaaa] {
        let question = UpstreamQuestion(name: host, types: [type])
        let outcome = format.outcome(of: HTTPResponse(status: 200, body: body), to: question)
        let aged = format.outcome(of: HTTPResponse(status: 200, age: 100, body: body), to: question)
        switch (outcome, aged) {
        case (.success(let results), .success(let agedResults)):
            precondition(
                results.map(\.type) == [type] && agedResults.map(\.type) == [type], "another type than the one asked")
            guard case .answer(let answer) = results[type] else {
                precondition(results == agedResults, "age changes what is empty")
                continue
            }
            check(answer, host, type)
            guard case .answer(let agedAnswer) = agedResults[type] else { preconditionFailure("age ends an answer") }
            for (record, old) in zip(answer.answers, agedAnswer.answers) {
                precondition(old.ttl == max(record.ttl, 100) - 100, "another TTL than the age leaves")
            }
        default:
            precondition(outcome == aged, "age changes what fails")
        }
        for status in [302, 400, 403, 500] {
            let response = HTTPResponse(status: status, body: body)
            guard case .failure = format.outcome(of: response, to: question) else {
                preconditionFailure("an answer from an error")
            }
        }
    }
}

private func check(_ answer: Answer, _ host: Name, _ type: RecordType) {
    precondition([.noError, .nameError].contains(answer.responseCode), "a failure as an answer")
    var end = host
    for record in answer.answers {
        precondition(record.class == .internet && record.ttl <= UInt32(Int32.max), "not as in a DNS message")
        if record.type == .dname {
            precondition(end.isWithin(record.name) && end != record.name, "a DNAME record beside the chain")
            continue
        }
        precondition(record.name == end, "a record beside the chain")
        if let target = record.canonicalName {
            end = target
        } else {
            precondition(record.type == type && record.address != nil, "another type than the one asked")
        }
    }
    precondition(answer.additionals.isEmpty && answer.authorities.count <= 1, "records that nobody asked for")
    for record in answer.authorities {
        precondition(record.type == .soa && answer.isNegative(for: type), "authority of an answer")
        precondition(end.isWithin(record.name) || host.isWithin(record.name), "the SOA record of another zone")
        precondition(record.soaMinimum.map { record.ttl <= $0 } == true, "an SOA record past its MINIMUM")
    }
}
