import TestServers
import Testing

extension MainJob {
    /// dig, the program, and a service of each type.
    @Suite(.serialized)
    struct ProviderTests {
        /// A type of provider, with the cipher where there are several.
        enum Form: String, CaseIterable, Sendable, CustomTestStringConvertible {
            case aliyun = "aliyun"
            case aliyunV2 = "aliyun-v2, GCM"
            case tencentDES = "tencent, DES"
            case tencentAES = "tencent, AES"
            case tencentToken = "tencent-https"
            case doh = "doh"
            case dohJSON = "doh-json"

            var testDescription: String { rawValue }

            private var account: FakeAccount? {
                switch self {
                case .aliyun, .doh, .dohJSON: nil
                case .aliyunV2: .aliyunV2(FakeAliyunV2Account(mode: .gcm))
                case .tencentDES: .tencent(.des(id: "1001", key: "k3yD3s8x"))
                case .tencentAES: .tencent(.aes(id: "1001", key: "0123456789abcdef"))
                case .tencentToken: .tencent(.token("123456789"))
                }
            }

            /// Such a service, and the table of a provider that asks it.
            func service(_ zone: FakeZone) throws -> (vendor: FakeHTTPDNS, table: String) {
                let vendor = try FakeHTTPDNS(zone, account: account)
                return switch (self, account) {
                case (.doh, _): (vendor, DaemonConfiguration.doh(vendor.url))
                case (.dohJSON, _): (vendor, DaemonConfiguration.dohJSON(vendor.jsonURL))
                case (_, .aliyunV2(let account)?): (vendor, DaemonConfiguration.aliyunV2(vendor.url, account))
                case (_, .tencent(let account)?): (vendor, DaemonConfiguration.tencent(vendor.url, account))
                case (_, nil): (vendor, DaemonConfiguration.aliyun(vendor.url))
                }
            }
        }

        @Test(arguments: Form.allCases)
        func `dig gets both families over UDP and TCP, and LocalDNS is not asked`(form: Form) throws {
            // Where the machine is so busy that the service is late LocalDNS is asked, too, and nothing is wrong: then once more.
            for _ in 0..<4 where try isAsked(form) { return }
        }

        /// Asks for all, and expects that no more than this was needed. Returns whether both families had their answers before
        /// LocalDNS was due: else it may be asked.
        private func isAsked(_ form: Form) throws -> Bool {
            let (vendor, table) = try form.service(MainJob.zone)
            let localDNS = try FakeLocalDNS(MainJob.forged)
            let daemon = try Daemon(table + DaemonConfiguration.rest(localDNS: localDNS.address))
            let began = ContinuousClock.now
            var isInTime = true
            for option in ["+notcp", "+tcp"] {
                let four = try Dig(daemon.address, "www.example.com", "A", [option])
                #expect(four.addresses == ["192.0.2.1", "192.0.2.2"], "\(four.text)")
                let six = try Dig(daemon.address, "www.example.com", "AAAA", [option])
                #expect(six.addresses == ["2001:db8::1"], "\(six.text)")
                if option == "+notcp" { isInTime = .now - began < .milliseconds(300) }
            }
            guard isInTime else { return false }
            // One call, or one for each family.
            #expect(vendor.callCount() == (form == .doh || form == .dohJSON ? 2 : 1))
            #expect(localDNS.questionCount("www.example.com") == 0)
            return true
        }
    }
}
