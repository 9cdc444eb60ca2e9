import DNSWire
import HTTPDNS
import Testing

/// Requests that get no answer of our service, and the form of that; and that honest ones do.
struct ServiceDenialTests {
    private static let wrong = String(repeating: "0", count: 32)

    /// Signed with parameters of the customer's own.
    private static let ownParameters =
        "/v2/d?id=139450&m=0&dn=www.example.com,api.example.com&q=4&cip=203.0.113.7&sdns-region=sh&sdns-Ver=2&tags="
        + "&v=1.0&exp=1700000000&s=6aadf8af613eb6344404338c000f09f112b60e4833e4ddb9c94efe76b51f147d"

    private static func signed(_ host: String, t: Int64, s: String = wrong) -> String {
        "/139450/sign_d?host=\(host)&t=\(t)&s=\(s)"
    }

    @Test(
        arguments: [
            (signed("www.example.com", t: 1_600_000_000), 403, "SignatureExpired"),
            (signed("www.example.com", t: 1_699_999_399), 403, "SignatureExpired"),
            // In time, and so refused for what it is.
            (signed("www.example.com", t: 1_699_999_400), 403, "InvalidSignature"),
            (signed("www.example.com", t: 1_699_999_400 + 86_400), 403, "InvalidSignature"),
            (signed("www.example.com", t: 1_699_999_400 + 86_401), 403, "InvalidDuration"),
            (signed("www.example.com", t: 1_700_000_000), 403, "InvalidSignature"),
            ("/139450/sign_d?host=www.example.com&t=-170000000&s=\(wrong)", 403, "InvalidSignature"),
            ("/139450/sign_d?host=www.example.com&t=1700000000", 400, "MissingArgument"),
            ("/139450/d?host=www.example.com", 403, "UnsignedInterfaceDisabled"),
            ("/139450/ss?region=cn&s=0", 400, "MissingArgument"),
            // Up to ten digits are a time, though a wrong one.
            ("/139450/ss?n=0&t=0&s=0", 403, "SignatureExpired"),
            ("/139450/ss?n=0&t=9999999999&s=0", 403, "SignatureExpired"),
            ("/139450/ss?n=0&t=10000000000&s=0", 403, "InvalidSignature"),
            ("/139450/ss?n=0&t=-1&s=0", 403, "InvalidSignature"),
            ("/139450/ss?n=0&t=1699999400&s=0", 403, "InvalidSignature"),
            // Without a list of addresses there is none to give.
            ("/1/ss?region=cn", 500, "InternalError"),
            ("/999/d?host=www.example.com", 403, "AccountNotExists"),
            ("/1/d?query=4", 400, "MissingArgument"),
            ("/1/d?host=www.example.com&query=5", 400, "MissingArgument"),
            ("/1/d?host=192.0.2.1", 400, "InvalidHost"),
            ("/1/d?host=a,b", 400, "InvalidHost"),
            ("/1/resolve?host=www.example.com,", 400, "InvalidHost"),
            ("/1/resolve?host=,www.example.com", 400, "InvalidHost"),
            ("/1/d?host=www.example.com&sdns-a=1", 400, "SdnsNotSupported"),
            ("/1/resolve?host=a,b,c,d,e,f", 400, "TooManyHosts"),
            ("/v2/d?id=139450&m=0&dn=www.example.com&q=4&v=1.0&exp=1700000000&s=deadbeef", 403, "InvalidSignature"),
            ("/v2/d?id=139450&m=0&dn=www.example.com&q=4&v=1.0&exp=1600000000&s=deadbeef", 403, "SignatureExpired"),
            ("/v2/d?id=139450&m=0&dn=www.example.com&q=4&v=1.0", 403, "UnsignedInterfaceDisabled"),
            ("/v2/d?id=1&m=1&enc=00&v=1.0", 400, "MissingArgument"),
            ("/v2/d?id=1004&m=1&enc=00&v=1.0", 400, "MissingArgument"),
            ("/v2/d?id=1004&m=2&enc=00&v=1.0", 403, "InvalidSignature"),
            ("/v2/d?id=1&m=0&dn=www.example.com&sdns-a=1", 400, "SdnsNotSupported"),
            (ownParameters, 400, "SdnsNotSupported"),
            ("/v2/d?id=1&m=0&dn=a%2Cb%2Cc%2Cd%2Ce%2Cf", 400, "TooManyHosts"),
        ]) func `Aliyun's forms have the vendor's code and status`(target: String, status: Int, code: String) throws
    {
        let reply = try TestService().reply(to: target)
        #expect(reply.status == status)
        #expect(reply.text == #"{"code":"\#(code)"}"#)
    }

    @Test(
        arguments: [
            ("/d?dn=www.example.com&token=12345678", 401), ("/d?dn=www.example.com&id=9", 401),
            ("/d?dn=5d3bf9d247bddbd0e75393177aae4176&id=1001&alg=des", 401),
            ("/d?dn=5d3bf9d247bddbd0e75393177aae4175&id=1002&alg=des", 401), ("/d?ttl=1", 404),
            // Another's cipher, which is none of Tencent's.
            ("/d?dn=00&id=1005&alg=cbc", 401),
            ("/d?dn=a,b,c,d,e,f,g,h,i", 404), ("/d?dn=192.0.2.1", 404), ("/d?dn=a&type=mx", 404),
            ("/d?dn=www.example.com,", 404), ("/d?dn=www.example.com;", 404), ("/conf", 500),
            ("/resolve?type=1", 400), ("/resolve?name=www.example.com&type=ANY", 400),
            ("/resolve?name=www.example.com&uid=123456&ak=ak0001&ts=1699999400&key=00", 403),
        ]) func `Tencent's and Google's forms have a status`(target: String, status: Int) throws
    {
        let reply = try TestService().reply(to: target)
        #expect(reply.status == status && reply.body.isEmpty == !target.hasPrefix("/resolve"))
    }

    @Test(
        arguments: [
            ("/1/d?host=www.example.com", 405, #"{"code":"MethodNotAllowed"}"#),
            ("/resolve?name=www.example.com", 501, #"{"code":"only GET is known"}"#),
        ]) func `another method has the vendor's status for it`(target: String, status: Int, text: String) throws
    {
        let reply = try TestService().reply(to: target, isPost: true)
        #expect(reply.status == status && reply.text == text)
    }

    @Test func `parameters of the customer's own are refused where they are encrypted, too`() throws {
        let (crypto, text) = (CountingIVs(), #"{"dn":"www.example.com","q":"4","sdns-region":"sh"}"#)
        let iv = try #require(crypto.randomBytes(12))
        let sealed = try #require(
            crypto.encrypt(Array(text.utf8), .aes128GCM, key: hex(AliyunV2Tests.key.value), iv: iv))
        let reply = try TestService().reply(to: "/v2/d?id=1004&m=2&enc=\(TextEncoding.hexadecimal(iv + sealed))&v=1.0")
        #expect(reply.text == #"{"code":"SdnsNotSupported"}"#)
    }

    @Test(arguments: [
        "/1/d?query=4", "/1/d?host=192.0.2.1", signed("www.example.com", t: 1_600_000_000), "/1/ss",
        "/139450/d?host=www.example.com", "/d?ttl=1", "/conf", "/resolve?type=1",
    ])
    func `an error that is about no credential counts as no guess`(target: String) {
        #expect(TestService().read(target).kind == "reply")
    }

    @Test(
        arguments: [
            signed("www.example.com", t: 1_700_000_000), "/999/d?host=a", "/d?dn=a&token=1", "/d?dn=00&id=1001",
            "/resolve?name=a&uid=1",
        ]) func `a wrong credential counts as a guess`(target: String)
    {
        #expect(TestService().read(target).kind == "denied")
    }

    @Test(
        arguments: [
            "/", "/dns-query?dns=AAAB", "/1/2/d?host=a", "/resolve/x", "/%zz/d", "/d?dn=%0a", "/d?dn=%7f", "/d?dn=a%2",
            "/1/d?%ff=1", "",
        ])
    func `what no vendor has is left to others`(target: String) {
        #expect(TestService().read(target).kind == "unknown")
    }

    @Test func `a name beyond the account's is as empty as one that the vendor does not know`() throws {
        let target = "/1/d?host=www.example.net"
        #expect(try TestService().call(target).questions.isEmpty)
        #expect(
            try TestService().reply(to: target).text
                == #"{"host":"www.example.net","ips":[],"ttl":300,"client_ip":"203.0.113.7"}"#)
    }

    @Test func `only valid credentials of an account that may do so name another client`() throws {
        let service = TestService()
        let named = "/d?dn=5d3bf9d247bddbd0e75393177aae4175&id=1001&alg=des&ip="
        #expect(try service.call(named + "198.51.100.9").client == .v4(0xc633_6409))
        #expect(try service.call(named + "97b3a76f5f10b00c15fceddf42950123").client == .v4(0xcb00_7107))
        #expect(try service.call("/d?dn=www.example.com&token=123456789&ip=198.51.100.9").client == nil)
        #expect(try service.call("/resolve?name=www.example.com&edns_client_subnet=198.51.100.0%2F24").client == nil)
        #expect(try service.call("/1/d?host=www.example.com&ip=198.51.100.9").client == nil)
    }

    @Test func `the network of all addresses is no client, but forbids sending the sender's`() throws {
        let service = TestService()
        let question = UpstreamQuestion(name: name("www.example.com"), types: [.a])
        let signed = try DoHJSONRequestTests.signing.request(for: question, at: TestService.time).target
        for target in [signed, "/resolve?name=www.example.com"] {
            #expect(try !service.call(target).hidesNetwork)
            #expect(try !service.call(target + "&edns_client_subnet=198.51.100.0%2F24").hidesNetwork)
            for network in ["0.0.0.0/0", "%3A%3A%2F0"] {
                let call = try service.call(target + "&edns_client_subnet=" + network)
                #expect(call.hidesNetwork && call.client == nil)
            }
        }
        #expect(try service.call(signed + "&edns_client_subnet=198.51.100.0/24").client == .v4(0xc633_6400))
    }

    @Test func `credentials open the door, and their lack does not`() throws {
        let service = TestService()
        let enc = (
            cbc: "000102030405060708090a0b0c0d0e0f39cc1ffafb6111e2e9734349b7e84ed4f365fd95f821cd41015763be2cb86d7d"
                + "2134125f05d0f7ed3d315efa40136b54",
            gcm: "000102030405060708090a0b50f753aa8cadad17e84f07fa68ec2c9d617aa3291bdccca1ad2ff874c33faa1e14f46aca"
                + "04f2ef645da00ba3d05fa28c66e2"
        )
        let signature = "ecf668b07c6709c51638b97a7c9698da0df6156efd95de6f390255326ba45f44"
        #expect(try service.call("/d?dn=www.example.com&token=123456789").isAuthenticated)
        #expect(
            try service.call("/v2/d?id=139450&m=1&enc=\(enc.cbc)&v=1.0&exp=1700000000&s=\(signature)").isAuthenticated)
        // What only the key can make, and what anything on the path can change.
        #expect(try service.call("/v2/d?id=1004&m=2&enc=\(enc.gcm)&v=1.0").isAuthenticated)
        #expect(try !service.call("/v2/d?id=1005&m=1&enc=\(enc.cbc)&v=1.0").isAuthenticated)
        #expect(try !service.call("/d?dn=www.example.com").isAuthenticated)
        #expect(try !service.call("/1/d?host=www.example.com").isAuthenticated)
        #expect(try !service.call("/resolve?name=www.example.com").isAuthenticated)
    }

    private static let dn = "5d3bf9d247bddbd0e75393177aae4175"

    @Test(arguments: ["/d?dn=\(dn)&id=1001&alg=des&ip=198.51.100.9", "/d?dn=www.example.com&token=123456789"])
    func `what the path can read or change is a credential over https alone`(target: String) throws {
        let service = TestService()
        #expect(try service.call(target).isAuthenticated)
        let plain = try service.call(target, isEncrypted: false)
        #expect(plain.proof == .doubtful && plain.client == nil)
        // Answered all the same where no credential is needed.
        #expect(plain.questions.count == 1)
    }

    @Test func `an account may say that its requests count although they can be changed`() throws {
        let sent = try encrypted("www.example.com")
        #expect(try TestService().call("/d?dn=\(sent)&id=1006&alg=aes", isEncrypted: false).isAuthenticated)
        #expect(try !TestService().call("/d?dn=\(sent)&id=1002&alg=aes", isEncrypted: false).isAuthenticated)
    }

    /// As `dn` of Tencent's form with AES.
    private func encrypted(_ text: String) throws -> String {
        let (crypto, key) = (CountingIVs(), Array(TencentTests.aesKey.value.utf8))
        let iv = try #require(crypto.randomBytes(16))
        let sealed = try #require(crypto.encrypt(Array(text.utf8), .aes128CBC, key: key, iv: iv))
        return TextEncoding.hexadecimal(iv + sealed)
    }

    @Test(
        arguments: ["\u{1}", "www.example.com;x", "www.example.com;1", "a,b,c,d,e,f,g,h,i", "192.0.2.1", ",", ""]
            + (0..<32).map { "padding \($0)" })
    func `whatever is wrong with a ciphertext has one status, and counts as a guess`(text: String) throws {
        var sent = Array(try encrypted(text.hasPrefix("padding") ? "www.example.com" : text).utf8)
        if text.hasPrefix("padding"), let place = Int(text.dropFirst(8)) {
            // Each byte of the vector and of the block in turn.
            sent[place * 2] = sent[place * 2] == UInt8(ascii: "f") ? UInt8(ascii: "0") : UInt8(ascii: "f")
        }
        for isEncrypted in [true, false] {
            let target = "/d?id=1002&alg=aes&dn=" + String(decoding: sent, as: UTF8.self)
            switch TestService().read(target, isEncrypted: isEncrypted) {
            case .denied(let reply, .account("1002")): #expect(reply.status == 401 && reply.body.isEmpty)
            // Some changes of the vector make another name.
            case .call(let call) where text.hasPrefix("padding"):
                let refused = call.reply(ServiceRefusal.doubtful)
                #expect(refused.status == 401 && refused.body.isEmpty)
            case let other: Issue.record("\(other)")
            }
        }
    }

    @Test(arguments: ["/d?id=1002&alg=aes&type=mx&dn=", "/d?id=1002&alg=aes&dn="])
    func `what is wrong beside the ciphertext has a status of its own, which does not depend on it`(
        target: String
    ) throws {
        let (good, bad) = (try encrypted("www.example.com"), String(repeating: "0", count: 64))
        let isWrong = target.contains("mx")
        #expect(try TestService().reply(to: target + bad).status == (isWrong ? 404 : 401))
        #expect(try TestService().reply(to: target + good).status == (isWrong ? 404 : 200))
    }

    @Test func `an account without names is limited to what is public, and one with names to those`() throws {
        var call = try TestService().call("/d?dn=www.example.com,nas.lan&token=123456789")
        let isPublic = { (question: Question) in question.name != name("nas.lan") }
        let isLimited = call.limit(to: isPublic)
        #expect(isLimited)
        #expect(call.questions.map(\.name) == [name("www.example.com")])
        let answer = Message(
            flags: .response, answers: [Record(name: name("www.example.com"), address: .v4(0xc000_0201), ttl: 60)])
        #expect(call.reply([answer], for: TestService.client).text == "www.example.com.:192.0.2.1\nnas.lan.:0")
        var listed = try TestService().call("/1/resolve?host=nas.example.com,nas.lan")
        let isListedLimited = listed.limit { _ in false }
        #expect(!isListedLimited)
        #expect(listed.questions.map(\.name) == [name("nas.example.com")])
    }

    @Test(
        arguments: [
            (ServiceRefusal.notAllowed, 403, 403, 403), (.overQuota, 429, 429, 429), (.unavailable, 500, 500, 200),
        ] as [(ServiceRefusal, Int, Int, Int)])
    func `every form has a reply for a call without an answer`(
        refusal: ServiceRefusal, aliyun: Int, tencent: Int, json: Int
    ) throws {
        let service = TestService()
        #expect(try service.call("/1/d?host=www.example.com").reply(refusal).status == aliyun)
        #expect(try service.call("/v2/d?id=1&dn=www.example.com").reply(refusal).status == aliyun)
        #expect(try service.call("/d?dn=www.example.com").reply(refusal).status == tencent)
        #expect(try service.call("/resolve?name=www.example.com").reply(refusal).status == json)
    }

    @Test func `a failure is no empty list in JSON's short form, where that denies`() throws {
        let reply = try TestService().reply(to: "/resolve?name=broken.example.com&short=1")
        #expect(reply.status == 503 && reply.text.hasPrefix(#"{"Status":2,"#))
    }

    @Test func `a family that failed is left out, and the other one soon asked for again`() throws {
        let call = try TestService().call("/1/d?host=www.example.com&query=4,6")
        let answer = Message(
            flags: .response, answers: [Record(name: name("www.example.com"), address: .v4(0xc000_0201), ttl: 600)])
        let text = call.reply([answer, nil], for: TestService.client).text
        #expect(
            text
                == #"{"host":"www.example.com","ips":["192.0.2.1"],"ttl":10,"origin_ttl":10,"client_ip":"203.0.113.7"}"#
        )
        let batch = try TestService().call("/1/resolve?host=www.example.com&query=4,6")
        #expect(
            batch.reply([answer, nil], for: TestService.client).text
                == #"{"dns":[{"host":"www.example.com","client_ip":"203.0.113.7","ips":["192.0.2.1"],"type":1,"#
                + #""ttl":600,"origin_ttl":600}]}"#)
        #expect(batch.reply([nil, nil], for: TestService.client).text == #"{"code":"InternalError"}"#)
    }

    @Test func `a name that could not be resolved is left out of Aliyun's v2, or iOS would cache it`() throws {
        let batch = try TestService().call("/v2/d?id=1&dn=one.example.com,two.example.com&q=4")
        let answer = Message(
            flags: .response, answers: [Record(name: name("two.example.com"), address: .v4(0xc000_0201), ttl: 60)])
        #expect(
            batch.reply([nil, answer], for: TestService.client).text
                == #"{"code":"success","mode":0,"data":{"cip":"203.0.113.7","answers":["#
                + #"{"dn":"two.example.com","v4":{"ips":["192.0.2.1"],"ttl":60}}]}}"#)
    }

    @Test func `of a name in Aliyun's v2 a family may be missing beside IPv4 addresses only`() throws {
        let call = try TestService().call("/v2/d?id=1&dn=www.example.com&q=4,6")
        let name = name("www.example.com")
        let v4 = Message(flags: .response, answers: [Record(name: name, address: .v4(0xc000_0201), ttl: 60)])
        let v6 = Message(flags: .response, answers: [Record(name: name, address: .v6(1), ttl: 60)])
        let empty = Message(flags: .response)
        let failure = #"{"code":"InternalError"}"#
        #expect(
            call.reply([v4, nil], for: TestService.client).text
                == #"{"code":"success","mode":0,"data":{"cip":"203.0.113.7","answers":["#
                + #"{"dn":"www.example.com","v4":{"ips":["192.0.2.1"],"ttl":60}}]}}"#)
        for answers in [[nil, v6], [nil, empty], [empty, nil], [nil, nil]] {
            #expect(call.reply(answers, for: TestService.client).text == failure)
        }
        #expect(call.reply([empty, v6], for: TestService.client).status == 200)
    }

    @Test func `Tencent's line for both families has two parts, also where one of them failed`() throws {
        let call = try TestService().call("/d?dn=www.example.com&type=addrs&query=1&ttl=1&clientip=1")
        let answer = Message(
            flags: .response, answers: [Record(name: name("www.example.com"), address: .v4(0xc000_0201), ttl: 600)])
        let reply = call.reply([answer, nil], for: TestService.client)
        #expect(reply.text == "www.example.com.:192.0.2.1,600-0|203.0.113.7")
        // As the SDK of iOS splits it: with one part it would take neither family.
        #expect(reply.text.split(separator: "|").first?.split(separator: "-").count == 2)
    }

    @Test func `Tencent's batch has a line for each name, also for one that failed`() throws {
        let service = TestService()
        let failed = "/d?dn=broken.example.com,www.example.com&ttl=1&clientip=1"
        #expect(
            try service.reply(to: failed).text
                == "broken.example.com.:0|203.0.113.7\nwww.example.com.:192.0.2.1;192.0.2.2,60|203.0.113.7")
        #expect(
            try service.reply(to: failed + "&type=addrs").text
                == "broken.example.com.:0-0|203.0.113.7\nwww.example.com.:192.0.2.1;192.0.2.2,60-0|203.0.113.7")
        #expect(try service.reply(to: "/d?dn=broken.example.com,broken.example.org").status == 500)
    }

    @Test func `Tencent's reply is empty where every family is, and an error while one has failed`() throws {
        let call = try TestService().call("/d?dn=www.example.com&type=addrs")
        let empty = Message(flags: .response, authorities: [Record.negativeSOA(for: name("example.com"), ttl: 300)])
        let reply = call.reply([empty, empty], for: TestService.client)
        #expect(reply.status == 200 && reply.body.isEmpty)
        #expect(call.reply([empty, nil], for: TestService.client).status == 500)
        let named = try TestService().call("/d?dn=www.example.com&type=addrs&query=1")
        #expect(named.reply([empty, empty], for: TestService.client).text == "www.example.com.:0-0")
        #expect(named.reply([empty, nil], for: TestService.client).status == 500)
    }
}
