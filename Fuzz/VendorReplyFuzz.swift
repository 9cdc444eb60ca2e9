// Any bytes as the body of a response in each proprietary form, to a question and to a scheduling call: a result is of
// the name and a type asked for, and addresses are of their family.

import DNSWire
@testable import HTTPDNS

private let formats: [any ProviderFormat] = [
    AliyunFormat(account: "1", secret: nil, crypto: NoEncryption()),
    AliyunV2Format(account: "1", secret: nil, box: nil, crypto: NoEncryption()),
    AliyunV2Format(account: "1", secret: nil, box: .gcm(Secret("00"), NoEncryption()), crypto: NoEncryption()),
    TencentFormat(.token(Secret("1"), id: "")),
    TencentFormat(.encrypted(.aes(Secret("1"), NoEncryption()), id: "1")),
]

private let schedules: [any ScheduleFormat] = [
    AliyunScheduleFormat(account: "1", region: "cn", secret: nil, crypto: NoEncryption()),
    TencentScheduleFormat(.token(Secret("1"), id: "")),
]

func fuzzVendorReply(_ body: [UInt8]) {
    guard let name = try? Name("www.example.com") else { return }
    for format in schedules {
        guard let schedule = try? format.schedule(in: HTTPResponse(status: 200, body: body)) else { continue }
        precondition((1...64).contains(schedule.places.count))
    }
    for format in formats {
        for types in [[RecordType.a], [.aaaa], [.a, .aaaa]] {
            let question = UpstreamQuestion(name: name, types: types)
            if case .success(let results) = format.outcome(of: HTTPResponse(status: 200, body: body), to: question) {
                check(results, name, types)
            }
            for status in [302, 400, 403, 500] {
                guard case .failure = format.outcome(of: HTTPResponse(status: status, body: body), to: question) else {
                    preconditionFailure("an answer from an error")
                }
            }
        }
    }
}

private func check(_ results: UpstreamResults, _ name: Name, _ types: [RecordType]) {
    for (type, result) in results {
        precondition(types.contains(type), "a type that was not asked")
        switch result {
        case .indeterminateEmpty(let ttl):
            precondition(ttl.map { (1...UInt32(Int32.max)).contains($0) } ?? true, "a TTL that is none")
        case .failure(let failure):
            precondition(failure.description.contains("nothing in its list"), "another failure of one type")
        case .answer(let answer):
            precondition([.noError, .nameError].contains(answer.responseCode), "a failure as an answer")
            precondition(answer.answers.isEmpty != answer.authorities.isEmpty, "neither addresses nor an SOA record")
            for record in answer.answers {
                precondition(record.name == name && record.type == type, "another name or type than was asked")
                precondition(record.address?.recordType == type, "no address of the family")
            }
            for record in answer.answers + answer.authorities {
                precondition((1...UInt32(Int32.max)).contains(record.ttl), "a TTL that is none")
            }
        }
    }
}
