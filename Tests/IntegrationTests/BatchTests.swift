import TestSupport
import Testing

extension Integration {
    /// Names that are looked up at the start share requests where the service takes several.
    @Suite(.serialized)
    struct BatchTests {
        private static let count = 12
        private static let names = (1...count).map { "host\($0).example.com" }
        private static var zone: FakeZone {
            FakeZone(
                Dictionary(
                    uniqueKeysWithValues: (1...count).map { number in
                        ("host\(number).example.com", .init(a: ["192.0.2.\(number)"], aaaa: ["2001:db8::\(number)"]))
                    }))
        }

        /// Starts a daemon that looks the names up, and asks it for each once the service has had this many requests.
        private func check(_ vendor: FakeHTTPDNS, _ table: String, requests: Int) throws {
            let localDNS = try FakeLocalDNS(FakeZone())
            let preset = "[preset]\npreresolve = [\(Self.names.map { "\"\($0)\"" }.joined(separator: ", "))]\n"
            let daemon = try Daemon(table + preset + DaemonConfiguration.rest(localDNS: localDNS.address))
            #expect(vendor.waitForCalls(requests))
            let client = try daemon.client()
            for number in 1...Self.count {
                #expect(try client.ask("host\(number).example.com").addresses == ["192.0.2.\(number)"])
                #expect(
                    try client.ask("host\(number).example.com", RecordType.aaaa).addresses == ["2001:db8::\(number)"])
            }
            #expect(vendor.callCount() == requests && localDNS.questionCount() == 0)
        }

        @Test func `twelve names at aliyun are three signed requests, and each is answered from the cache`() throws {
            let secret = "0123456789abcdef0123456789abcdef"
            let vendor = try FakeHTTPDNS(Self.zone, secret: secret)
            try check(vendor, DaemonConfiguration.aliyun(vendor.url, secret: secret), requests: 3)
            let hosts = vendor.requests.map { $0.parameters["host"]?.split(separator: ",").count }
            #expect(Set(hosts) == [5, 2])
            #expect(vendor.requests.allSatisfy { $0.path.hasSuffix("/sign_resolve") })
        }

        @Test func `twelve names at aliyun-v2 with GCM are three requests`() throws {
            let account = FakeAliyunV2Account(mode: .gcm)
            let vendor = try FakeHTTPDNS(Self.zone, account: .aliyunV2(account))
            try check(vendor, DaemonConfiguration.aliyunV2(vendor.url, account), requests: 3)
        }

        @Test(arguments: [FakeTencentAccount.token("123456789"), .aes(id: "1001", key: "0123456789abcdef")])
        func `twelve names at tencent are two requests, of eight and four`(account: FakeTencentAccount) throws {
            let vendor = try FakeHTTPDNS(Self.zone, account: .tencent(account))
            try check(vendor, DaemonConfiguration.tencent(vendor.url, account), requests: 2)
        }

        @Test func `a service that refuses batches is asked name by name, and each name is answered`() throws {
            let vendor = try FakeHTTPDNS(Self.zone)
            // The first names of the three batches.
            for number in [1, 6, 11] { vendor.misbehave(.status(404), for: "host\(number).example.com", times: 1) }
            try check(vendor, DaemonConfiguration.aliyun(vendor.url), requests: 3 + Self.count)
        }
    }
}
