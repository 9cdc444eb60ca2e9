// Any bytes as a request in the vendors' forms: what is asked is a host name and an address, or one name and any type,
// and every reply to it can be written.

import DNSWire
@testable import HTTPDNS

private let service = VendorService(
    accounts: [
        ServiceAccount(id: "1", namesClients: true),
        ServiceAccount(id: "2", secret: Secret("00"), box: .cbc(Secret("00"), NoEncryption()), namesClients: true),
        ServiceAccount(id: "3", box: .gcm(Secret("00"), NoEncryption()), namesClients: true),
        ServiceAccount(id: "4", box: .aes(Secret("0"), NoEncryption()), namesClients: true),
        ServiceAccount(id: "5", box: .des(Secret("0"), NoEncryption()), names: [.root]),
    ], addresses: [.v4(1)], crypto: NoEncryption(), dataText: { "\($0.rdata.count)" })

/// Target and body are separated by a line feed.
func fuzzVendorRequest(_ bytes: [UInt8]) {
    let parts = bytes.split(separator: 10, maxSplits: 1, omittingEmptySubsequences: false).map(Array.init)
    for isPost in [false, true] {
        let request = ServiceRequest(
            isPost: isPost, target: parts[0], body: parts.count > 1 ? parts[1] : [], client: .v4(2))
        guard case .call(let call) = service.read(request, at: 1_700_000_000) else { continue }
        precondition(call.questions.count <= 2 * ServiceCall.mostNames, "more questions than a call may have")
        let answers = call.questions.map { question -> Message? in
            precondition(!question.type.isMeta, "no type of records")
            let record = Record(name: question.name, type: question.type, ttl: 0, rdata: [1, 2, 3, 4])
            return Message(flags: .response, answers: [record])
        }
        _ = call.reply(answers, for: .v6(1))
        _ = call.reply(answers.map { _ in nil }, for: .v4(1))
        for refusal in [ServiceRefusal.notAllowed, .overQuota, .unavailable] { _ = call.reply(refusal) }
    }
}
