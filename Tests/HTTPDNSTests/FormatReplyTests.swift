import DNSWire
import HTTPDNS
import Testing

/// What holds for the replies of every form.
struct FormatReplyTests {
    /// A whole reply to a question for `www.example.com`, no part of which is an answer.
    struct Reply: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let format: any ProviderFormat
        var types: [RecordType] = [.a, .aaaa]
        var contentType: String?
        /// The length of its shortest part that is unusable.
        var shortest = 0
        let body: [UInt8]

        func outcome(_ body: [UInt8]) -> ProviderOutcome {
            format.outcome(
                of: HTTPResponse(status: 200, contentType: contentType, body: body),
                to: UpstreamQuestion(name: name("www.example.com"), types: types))
        }
    }

    static let replies = [
        Reply(
            testDescription: "aliyun", format: AliyunRequestTests.signing,
            body: Array(#"{"host":"www.example.com","ips":["192.0.2.1"],"ipsv6":["2001:db8::1"],"ttl":60}"#.utf8)),
        Reply(
            testDescription: "aliyun-v2, GCM", format: AliyunV2Tests.format(.gcm(AliyunV2Tests.key)),
            body: Array(#"{"code":"success","mode":2,"data":"\#(AliyunV2Tests.inGCM)"}"#.utf8)),
        Reply(
            testDescription: "tencent, AES", format: TencentTests.aes, shortest: 1,
            body: Array(TencentTests.replyInAES.utf8)),
        Reply(
            testDescription: "doh", format: DoHFormat(), types: [.aaaa], contentType: "application/dns-message",
            body: hex(DoHOutcomeTests.aaaaReply)),
        Reply(
            testDescription: "doh-json", format: DoHJSONFormat(), types: [.a],
            body: Array(
                ("{\"Status\":0,\(DoHJSONOutcomeTests.question),\"Answer\":"
                    + #"[{"name":"www.example.com.","type":1,"TTL":60,"data":"192.0.2.1"}]}"#).utf8)),
    ]

    @Test(arguments: replies)
    func `a reply is an answer, and cut at any byte it is none`(reply: Reply) {
        guard case .success = reply.outcome(reply.body) else {
            Issue.record("\(reply.outcome(reply.body))")
            return
        }
        for length in reply.shortest..<reply.body.count {
            #expect(reply.outcome(Array(reply.body[..<length])).isUnusable, "\(length)")
        }
    }

    @Test(arguments: replies)
    func `a reply with any one byte changed never brings another name's address`(reply: Reply) {
        for index in reply.body.indices {
            for bit in 0..<8 {
                var changed = reply.body
                changed[index] ^= 1 << UInt8(bit)
                guard case .success(let results) = reply.outcome(changed) else { continue }
                for case (let type, .answer(let answer)) in results {
                    #expect(
                        answer.answers.allSatisfy {
                            $0.name == name("www.example.com") && [type, .cname].contains($0.type)
                                && $0.class == .internet
                        }, "\(index) \(bit)")
                }
            }
        }
    }
}
