import DNSWire
import HTTPDNS
import Testing

/// Our own providers of every type, asking our own service.
struct ServiceRoundTripTests {
    /// A provider's format with its types of one call.
    struct Provider: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let format: any ProviderFormat
    }

    private static let secret = AliyunV2Tests.secret
    private static let key = AliyunV2Tests.key

    static let providers = [
        Provider(
            testDescription: "aliyun, unsigned", format: AliyunFormat(account: "1", secret: nil, crypto: CountingIVs())),
        Provider(
            testDescription: "aliyun, signed",
            format: AliyunFormat(account: "139450", secret: secret, crypto: CountingIVs())),
        Provider(testDescription: "aliyun-v2, plain", format: AliyunV2Tests.format()),
        Provider(testDescription: "aliyun-v2, CBC", format: AliyunV2Tests.format(.cbc(key))),
        Provider(testDescription: "aliyun-v2, GCM", format: AliyunV2Tests.format(.gcm(key))),
        Provider(testDescription: "tencent, DES", format: TencentTests.des),
        Provider(
            testDescription: "tencent, AES",
            format: TencentFormat(.encrypted(.aes(TencentTests.aesKey), id: "1002"))),
        Provider(testDescription: "tencent-https", format: TencentTests.token),
        Provider(testDescription: "doh-json", format: DoHJSONFormat()),
        Provider(
            testDescription: "doh-json, with an account",
            format: DoHJSONFormat(
                account: AliDNSAccount(
                    id: "123456", accessKeyID: "ak0001", secret: Secret("s3cr3ts3cr3t"), crypto: CountingIVs()))),
    ]

    private func results(
        _ provider: Provider, _ text: String, _ types: [RecordType], of service: TestService
    ) throws -> [RecordType: UpstreamResult] {
        var results: [RecordType: UpstreamResult] = [:]
        for types in provider.format.answersBothFamilies ? [types] : types.map({ [$0] }) {
            let question = UpstreamQuestion(name: name(text), types: types)
            let request = try provider.format.request(for: question, at: TestService.time)
            let reply = try service.reply(to: request.target)
            let outcome = provider.format.outcome(
                of: HTTPResponse(status: reply.status, body: reply.body), to: question)
            switch outcome {
            case .success(let found): for (type, result) in found { results[type] = result }
            case .failure(let failure): for type in types { results[type] = .failure(failure) }
            }
        }
        return results
    }

    private func addresses(_ result: UpstreamResult?) -> [IPAddress]? {
        guard case .answer(let answer)? = result else { return nil }
        return answer.addresses
    }

    @Test(arguments: providers) func `the addresses arrive`(provider: Provider) throws {
        let service = TestService(records: [
            "www.example.com": [.a: (["192.0.2.1", "192.0.2.2"], 60), .aaaa: (["2001:db8::1"], 120)]
        ])
        let results = try results(provider, "www.example.com", [.a, .aaaa], of: service)
        #expect(addresses(results[.a]) == [.v4(0xc000_0201), .v4(0xc000_0202)])
        #expect(addresses(results[.aaaa]) == [IPAddress("2001:db8::1")].compactMap { $0 })
    }

    @Test(arguments: providers) func `a missing family is empty, and no failure`(provider: Provider) throws {
        let results = try results(provider, "www.example.com", [.a, .aaaa], of: TestService())
        #expect(addresses(results[.a]) == [.v4(0xc000_0201), .v4(0xc000_0202)])
        switch results[.aaaa] {
        case .answer(let answer)?: #expect(answer.responseCode == .noError && answer.answers.isEmpty)
        case .indeterminateEmpty?: break
        case .failure, nil: Issue.record("\(String(describing: results[.aaaa]))")
        }
    }

    @Test(arguments: providers) func `what could not be resolved is a failure, and no empty answer`(
        provider: Provider
    ) throws {
        let results = try results(provider, "broken.example.com", [.a, .aaaa], of: TestService())
        for type in [RecordType.a, .aaaa] {
            guard case .failure? = results[type] else {
                Issue.record("\(type): \(String(describing: results[type]))")
                return
            }
        }
    }

    @Test(arguments: providers) func `a name that does not exist has no address`(provider: Provider) throws {
        let results = try results(provider, "none.example.com", [.a], of: TestService())
        switch results[.a] {
        case .answer(let answer)?: #expect(answer.responseCode == .nameError)
        case .indeterminateEmpty?: break
        case .failure, nil: Issue.record("\(String(describing: results[.a]))")
        }
    }

    @Test func `the scheduling calls get the service's addresses`() throws {
        var service = TestService()
        service.addresses = [.v4(0xc000_020a)]
        let formats: [any ScheduleFormat] = [
            AliyunScheduleFormat(account: "139450", region: "cn", secret: Self.secret, crypto: CountingIVs()),
            AliyunScheduleFormat(account: "1", region: "cn", secret: nil, crypto: CountingIVs()),
            TencentScheduleFormat(.encrypted(.des(TencentTests.desKey), id: "1001")),
            TencentScheduleFormat(.token(Secret("123456789"), id: "")),
        ]
        for format in formats {
            let reply = try service.reply(to: format.request(at: TestService.time).target)
            let schedule = try format.schedule(in: HTTPResponse(status: reply.status, body: reply.body))
            #expect(schedule?.places.map(\.address) == [.v4(0xc000_020a)])
        }
    }
}
