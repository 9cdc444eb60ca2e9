import DNSWire
import HTTPDNS
import Testing

/// The limits of our service's forms: what is still served, and what no longer is.
struct ServiceBoundsTests {
    private static let hosts = ["a", "b", "c", "d", "e"].map { "\($0).example.com" }.joined(separator: ",")

    @Test(
        arguments: [
            ("/1/resolve?host=\(hosts)", 5), ("/v2/d?id=1&dn=\(hosts)", 5), ("/d?dn=a,b,c,d,e,f,g,h", 8),
            ("/d?dn=a,b,c,d,e,f,g,h&type=addrs", 16),
        ])
    func `as many names as a form allows are asked for`(target: String, questions: Int) throws {
        #expect(try TestService().call(target).questions.count == questions)
    }

    @Test func `as many parameters as are read, and no more`() throws {
        let target = { (count: Int) in "/d?dn=www.example.com" + String(repeating: "&a=1", count: count - 1) }
        #expect(try TestService().call(target(64)).questions.count == 1)
        #expect(TestService().read(target(65)).kind == "unknown")
    }

    @Test func `a percent sign with its digits is decoded wherever it stands`() throws {
        let reply = try TestService().reply(to: "/%64?dn=www.example.co%6d&x=%20&%74tl=%31")
        #expect(reply.text == "192.0.2.1;192.0.2.2,60")
    }

    // MARK: Clocks

    private func schedule(_ stated: Int64, nonce: String = "0a1b2c3d4e5f") throws -> String {
        let digest = try #require(CountingIVs().md5(Array("\(nonce)-\(AliyunV2Tests.secret.value)-\(stated)".utf8)))
        return "/139450/ss?region=cn&n=\(nonce)&t=\(stated)&s=\(TextEncoding.hexadecimal(digest))"
    }

    @Test(arguments: [(-151, false), (-150, true), (0, true), (300, true), (301, false)] as [(Int64, Bool)])
    func `Aliyun's call for addresses is served with a time up to 150 s behind and 300 s ahead`(
        seconds: Int64, isServed: Bool
    ) throws {
        var service = TestService()
        service.addresses = [.v4(0xc000_020a)]
        let reply = try service.reply(to: schedule(TestService.time + seconds))
        #expect(reply.status == (isServed ? 200 : 403))
        #expect(isServed || reply.text == #"{"code":"SignatureExpired"}"#)
    }

    @Test(
        arguments: [
            (1_699_999_400, -601, 403), (1_699_999_400, -600, 200), (1_699_999_400, 600, 200),
            (1_699_999_400, 601, 403), (0, 0, 200), (9_999_999_999, 0, 200), (10_000_000_000, 0, 403),
        ] as [(Int64, Int64, Int)])
    func `a signed request in Google's form is served for ten minutes of either clock`(
        time: Int64, later: Int64, status: Int
    ) throws {
        let question = UpstreamQuestion(name: name("www.example.com"), types: [.a])
        let request = try DoHJSONRequestTests.signing.request(for: question, at: time)
        #expect(try TestService().reply(to: request.target, at: time + later).status == status)
    }

    // MARK: TTLs

    @Test func `a TTL of 0 is written as 1, for clients take 0 for none`() throws {
        let answer = Message(
            flags: .response, answers: [Record(name: name("www.example.com"), address: .v4(0xc000_0201), ttl: 0)])
        #expect(
            try TestService().call("/1/d?host=www.example.com").reply([answer], for: TestService.client).text
                == #"{"host":"www.example.com","ips":["192.0.2.1"],"ttl":1,"origin_ttl":1,"client_ip":"203.0.113.7"}"#)
    }

    @Test func `the shortest link of a chain of aliases has the TTL that counts`() throws {
        let answer = Message(
            flags: .response,
            answers: [
                Record(name: name("www.example.com"), type: .cname, ttl: 30, rdata: name("edge.example.net").wire),
                Record(name: name("edge.example.net"), address: .v4(0xc000_0201), ttl: 60),
            ])
        let reply = try TestService().call("/d?dn=www.example.com&ttl=1").reply([answer], for: TestService.client)
        #expect(reply.text == "192.0.2.1,30")
    }

    @Test func `a negative answer lives for the lower time of its SOA record, and for a minute without one`() throws {
        let call = try TestService().call("/1/d?host=www.example.com")
        let ttl = { (authorities: [Record]) in
            call.reply([Message(flags: .response, authorities: authorities)], for: TestService.client).text
        }
        let text = { (ttl: Int) in #"{"host":"www.example.com","ips":[],"ttl":\#(ttl),"client_ip":"203.0.113.7"}"# }
        var soa = Record.negativeSOA(for: name("example.com"), ttl: 300)
        #expect(ttl([]) == text(60))
        #expect(ttl([soa]) == text(300))
        soa.ttl = 200
        #expect(ttl([soa]) == text(200))
        soa.ttl = 900
        #expect(ttl([soa]) == text(300))
    }
}
